"""A fleet out of real parts: Kubernetes API servers, gslb-bridge, external-dns, BIND and unbound, each a process.

All of it runs in a network namespace of its own, so that port 53 is free on every loopback address and no port of the
machine is taken. Nothing outlives the test: it is the first process of a process namespace as well.
"""
