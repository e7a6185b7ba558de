//! Temporal locality: how many other objects are asked for before one is asked for again (Almeida et al.
//! 1996).
//!
//! The distance of a request is its object's place, from 1, in the stack of objects by their last request. A
//! tree of partial sums over the times of last requests (Fenwick 1994) counts those after a given one in
//! logarithmic time.

/// The stack, before and after each request.
#[derive(Debug)]
pub struct StackDistances {
    /// Time of the last request of each object, from 1; 0 for none.
    last: Vec<u32>,
    /// Object requested at each time.
    object: Vec<u32>,
    /// Partial sums over times that are some object's last.
    tree: Vec<u32>,
    now: u32,
}

impl StackDistances {
    /// A stack of the objects 0 … `objects` − 1, none requested yet.
    pub fn new(objects: usize) -> StackDistances {
        let times = (4 * objects).max(1_024);
        StackDistances {
            last: vec![0; objects],
            object: vec![0; times + 1],
            tree: vec![0; times + 1],
            now: 0,
        }
    }

    /// Records a request for `object` and returns its distance, `None` for the first of that object.
    pub fn take(&mut self, object: u32) -> Option<u32> {
        if self.now as usize + 1 == self.tree.len() {
            self.renumber();
        }
        let last = self.last[object as usize];
        let distance = (last > 0).then(|| {
            let after = self.up_to(self.now) - self.up_to(last);
            self.add(last, u32::MAX); // less one
            after + 1
        });
        self.now += 1;
        self.add(self.now, 1);
        self.last[object as usize] = self.now;
        self.object[self.now as usize] = object;
        distance
    }

    /// Gives the last requests the times 1, 2, … in their order.
    fn renumber(&mut self) {
        let mut kept = 0;
        self.tree.fill(0);
        for time in 1..=self.now {
            let object = self.object[time as usize];
            if self.last[object as usize] == time {
                kept += 1;
                self.last[object as usize] = kept;
                self.object[kept as usize] = object;
                self.add(kept, 1);
            }
        }
        self.now = kept;
    }

    fn add(&mut self, time: u32, by: u32) {
        let mut at = time as usize;
        while at < self.tree.len() {
            self.tree[at] = self.tree[at].wrapping_add(by);
            at += at & at.wrapping_neg();
        }
    }

    fn up_to(&self, time: u32) -> u32 {
        let (mut at, mut sum) = (time as usize, 0u32);
        while at > 0 {
            sum = sum.wrapping_add(self.tree[at]);
            at &= at - 1;
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Against a stack that is searched.
        #[test]
        fn distances_are_places_in_the_stack(objects in proptest::collection::vec(0u32..40, 0..3_000)) {
            let mut fast = StackDistances::new(40);
            let mut stack: Vec<u32> = Vec::new();
            for object in objects {
                let place = stack.iter().rev().position(|other| *other == object);
                prop_assert_eq!(fast.take(object), place.map(|at| at as u32 + 1));
                stack.retain(|other| *other != object);
                stack.push(object);
            }
        }
    }
}
