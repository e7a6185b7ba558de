"""Queue disciplines of ns-3 under packets that come at given instants: the oracle of farfield's own.

    python3 -m venv v && v/bin/pip install ns3==3.44.post0
    v/bin/python3 queues.py fq-codel > fq_codel.txt
    v/bin/python3 queues.py codel > codel.txt
    v/bin/python3 queues.py pie > pie.txt

The packets are those of `Load` in ../loads/mod.rs, which is written here once more: senders like TCP (additive increase,
multiplicative decrease, paced over a round trip) that react to a drop-tail queue of 60 ms before a link slightly
faster than the one that is measured. That link has 10 Mbit/s and takes the next packet from the queue disc as
soon as it is free.

Output: a line `load NAME`, then for each packet the nanoseconds from its arrival until its transmission
begins, or `c` if the discipline dropped it, or `f` if the queue was full. For PIE a line for each load and seed:
packets, packets dropped, and the mean and the 99 % point of the delay in nanoseconds.
"""

import sys

REFERENCE_BITS = 10_500_000
ROUND_TRIP_NS = 40_000_000
REFERENCE_QUEUE_NS = 60_000_000
PACKET = 1500
DATAGRAM = 200
DATAGRAM_GAP_NS = 8_000_000
NS_PER_BYTE = 800
FATES_A_LINE = 50

# Name, senders, datagrams beside them, packets, and the bits of the reference link.
LOADS = [
    ("one", 1, False, 3_000, REFERENCE_BITS),
    ("eight", 8, False, 3_000, REFERENCE_BITS),
    ("sixty-four", 64, False, 3_000, REFERENCE_BITS),
    ("datagrams", 8, True, 3_000, REFERENCE_BITS),
    ("flood", 8, True, 3_000, 2 * REFERENCE_BITS),
]


def packets_of(senders, with_datagrams, count, bits):
    """Instant in nanoseconds, bytes and flow of each packet, in order."""
    state = 1
    service_ns = PACKET * 8_000_000_000 // bits
    next_ns = [1_000_000 * (sender + 1) for sender in range(senders)]
    window = [2_000] * senders
    cut_ns = [0] * senders
    if with_datagrams:
        next_ns.append(1_000_000 * (senders + 1))
    busy_ns = 0
    packets = []
    while len(packets) < count:
        flow = min(range(len(next_ns)), key=lambda flow: (next_ns[flow], flow))
        now = next_ns[flow]
        if flow == senders:
            packets.append((now, DATAGRAM, flow))
            next_ns[flow] = now + DATAGRAM_GAP_NS
            continue
        packets.append((now, PACKET, flow))
        waits_ns = max(busy_ns - now, 0)
        trip_ns = ROUND_TRIP_NS + waits_ns
        if waits_ns <= REFERENCE_QUEUE_NS:
            busy_ns = max(busy_ns, now) + service_ns
            window[flow] += 1_000_000 // window[flow]
        elif now > cut_ns[flow] + trip_ns:
            window[flow] = max(window[flow] // 2, 1_000)
            cut_ns[flow] = now
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        spread = 768 + (state >> 33) % 512
        next_ns[flow] = now + trip_ns * 1_000 // window[flow] * spread // 1024
    return packets


DRIVER = """
#include "ns3/core-module.h"
#include "ns3/network-module.h"
#include "ns3/traffic-control-module.h"
#include <string>
#include <vector>

struct Item : ns3::QueueDiscItem
{
    Item(uint32_t bytes, uint32_t flow, size_t number)
        : QueueDiscItem(ns3::Create<ns3::Packet>(bytes), ns3::Address(), 0), flow(flow), number(number) {}
    void AddHeader() override {}
    bool Mark() override { return false; }
    uint32_t Hash(uint32_t) const override { return flow; }
    uint32_t flow;
    size_t number;
};

struct Replay
{
    ns3::Ptr<ns3::QueueDisc> disc;
    std::vector<uint64_t> at;
    std::vector<uint32_t> bytes, flow;
    std::vector<int64_t> fate;
    uint64_t ns_per_byte;
    uint64_t free_at = 0;
    bool busy = false;

    void add(uint64_t instant, uint32_t size, uint32_t of)
    {
        at.push_back(instant); bytes.push_back(size); flow.push_back(of); fate.push_back(-9);
    }

    void release()
    {
        if (!busy || free_at > (uint64_t) ns3::Simulator::Now().GetNanoSeconds()) { return; }
        busy = false;
        send();
    }

    void send()
    {
        ns3::Ptr<ns3::QueueDiscItem> next = disc->Dequeue();
        if (!next) { return; }
        const Item* item = (const Item*) ns3::PeekPointer(next);
        uint64_t now = ns3::Simulator::Now().GetNanoSeconds();
        fate[item->number] = now - at[item->number];
        busy = true;
        free_at = now + bytes[item->number] * ns_per_byte;
        ns3::Simulator::Schedule(ns3::NanoSeconds(free_at - now), &Replay::release, this);
    }

    void arrive(size_t number)
    {
        release();
        disc->Enqueue(ns3::Create<Item>(bytes[number], flow[number], number));
        if (!busy) { send(); }
    }

    void drop(ns3::Ptr<const ns3::QueueDiscItem> item, const char* reason)
    {
        std::string why(reason);
        bool full = why.find("Overlimit") == 0 || why.find("Forced") == 0;
        fate[((const Item*) ns3::PeekPointer(item))->number] = full ? -2 : -1;
    }

    void run()
    {
        disc->TraceConnectWithoutContext("DropBeforeEnqueue", ns3::MakeCallback(&Replay::drop, this));
        disc->TraceConnectWithoutContext("DropAfterDequeue", ns3::MakeCallback(&Replay::drop, this));
        disc->Initialize();
        for (size_t number = 0; number < at.size(); number++)
        {
            ns3::Simulator::Schedule(ns3::NanoSeconds(at[number]), &Replay::arrive, this, number);
        }
        ns3::Simulator::Stop(ns3::NanoSeconds(at.back() + 10000000000ull));
        ns3::Simulator::Run();
        ns3::Simulator::Destroy();
    }
};

ns3::Ptr<ns3::QueueDisc> fq_codel(const char* limit)
{
    auto disc = ns3::CreateObjectWithAttributes<ns3::FqCoDelQueueDisc>(
        "MaxSize", ns3::StringValue(limit), "UseEcn", ns3::BooleanValue(false));
    disc->SetQuantum(1500);
    return disc;
}

ns3::Ptr<ns3::QueueDisc> codel(const char* limit)
{
    return ns3::CreateObjectWithAttributes<ns3::CoDelQueueDisc>("MaxSize", ns3::StringValue(limit));
}

ns3::Ptr<ns3::QueueDisc> pie(const char* limit, int64_t stream)
{
    auto disc = ns3::CreateObjectWithAttributes<ns3::PieQueueDisc>(
        "MaxSize", ns3::StringValue(limit), "MaxBurstAllowance", ns3::StringValue("150ms"),
        "UseDerandomization", ns3::BooleanValue(true));
    disc->AssignStreams(stream);
    return disc;
}
"""


def replayed(cppyy, disc, packets):
    replay = cppyy.gbl.Replay()
    replay.disc = disc
    replay.ns_per_byte = NS_PER_BYTE
    for instant, size, flow in packets:
        replay.add(instant, size, flow)
    replay.run()
    return list(replay.fate)


def main():
    discipline = sys.argv[1]
    import cppyy
    import ns  # noqa: F401 - loads ns-3's libraries

    cppyy.cppdef(DRIVER)
    make = cppyy.gbl
    if discipline == "pie":
        return pie(cppyy, make)
    for name, *load in LOADS:
        # One queue for all tells them less apart: some of them, so that the file is small.
        if discipline == "codel" and name not in ("eight", "datagrams"):
            continue
        print("load", name)
        limit = "100p" if name == "flood" else "10240p"
        disc = make.fq_codel(limit) if discipline == "fq-codel" else make.codel(limit)
        fates = [{-1: "c", -2: "f"}.get(fate, str(fate)) for fate in replayed(cppyy, disc, packets_of(*load))]
        for first in range(0, len(fates), FATES_A_LINE):
            print(*fates[first : first + FATES_A_LINE])


def pie(cppyy, make):
    for name, senders, with_datagrams, _, bits in LOADS:
        packets = packets_of(senders, with_datagrams, 40_000, bits)
        for stream in range(16):
            fates = replayed(cppyy, make.pie("500p", stream), packets)
            delays = sorted(fate for fate in fates if fate >= 0)
            mean = sum(delays) // len(delays)
            print(name, stream, len(fates), len(fates) - len(delays), mean, delays[len(delays) * 99 // 100])


main()
