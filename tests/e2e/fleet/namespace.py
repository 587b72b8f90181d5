"""The network of the test: a namespace that has nothing but loopback addresses."""

import fcntl
import os
import socket
import struct

from fleet.process import Failed

# From linux/sockios.h and linux/if.h.
SIOCGIFFLAGS = 0x8913
SIOCSIFFLAGS = 0x8914
IFF_UP = 1


def enter():
    """Brings the loopback device up. Fails outside of a fresh namespace, so that no machine's network is touched."""
    devices = [name for _, name in socket.if_nameindex()]
    if os.getpid() != 1 or "lo" not in devices:
        raise Failed("this test wants namespaces of its own: start it with tests/e2e/run")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        request = struct.pack("16sh", b"lo", 0)
        flags = struct.unpack("16sh", fcntl.ioctl(any_socket, SIOCGIFFLAGS, request))[1]
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sh", b"lo", flags | IFF_UP))
