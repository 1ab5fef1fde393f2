"""The gateway for minutes, with clients and engines that misbehave: `python -m bench.gateway_soak`."""
