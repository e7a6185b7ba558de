"""The users of the scenario in flows.rs, as Locust has them."""
from locust import FastHttpUser, between, constant, task


class Reader(FastHttpUser):
    fixed_count = 8
    wait_time = constant(0.1)

    @task
    def read(self):
        self.client.get("/read")


class Writer(FastHttpUser):
    fixed_count = 3
    wait_time = between(0.05, 0.35)

    @task
    def write(self):
        self.client.post("/write", data="x")
