"""The users of figure 3 as Locust has them: its default HTTP client, and thinking for 1 s in the mean."""

import random

from locust import HttpUser, task


class User(HttpUser):
    def wait_time(self):
        return random.expovariate(1.0)

    @task
    def get(self):
        self.client.get("/bytes/1000")
