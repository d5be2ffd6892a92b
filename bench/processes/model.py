"""A model, not a measurement, of 64 nodes: the time of a step and the share of it that is computing, by network.

    python model.py

A process on each node has one shard. A step computes the shard's gradients, exchanges pieces of them (every node sends each other one a piece of
size bytes/n), adds the n pieces of its own in a tree, sends the sum to all, and updates. Nothing overlaps, as in h5dnn where the exchange
follows the backward pass. Network switches that carry every link's full rate are assumed.
"""

# Measured on one thread of an AMD EPYC, idle, 2026-11-27: half a step of one process with two shards (README.md), which is a part of 128 samples and
# half an update. The last row is no model that was run.
MODELS = {
    "MLP 784-1024-1024-10": (4.35 / 156 / 2, 1_863_690),
    "CNN of 1.2 million parameters": (16.5 / 156 / 2, 1_199_882),
    "25 million parameters, 128 times the CNN's time": (128 * 16.5 / 156 / 2, 25_000_000),
}
ADD = 8.3e9  # bytes of sums a second of one thread: add of 2^24 with out= of bench/TENSOR.md, by two threads
LATENCY = 30e-6  # seconds of a message over TCP in a data center: an assumption
MESSAGE = 3e-6  # seconds of a processor for each message: an assumption
NETWORKS = {"10 Gbit/s": 10e9 / 8 * 0.94, "100 Gbit/s": 100e9 / 8 * 0.9}  # bytes a second: Ethernet's and TCP's headers taken off


def exchange(nodes: int, size: float, rate: float) -> float:
    """Seconds of both exchanges and of the tree."""
    others = nodes - 1
    sent = 2 * others * size / nodes  # each way
    return sent / rate + 2 * (LATENCY + others * 2 * MESSAGE) + others * size / nodes / ADD


def main() -> None:
    print("| | nodes | bytes sent a step and node | " + " | ".join(f"exchange, {n} | computing, {n}" for n in NETWORKS) + " |")
    print("|---|---:|---:|" + "---:|" * 2 * len(NETWORKS))
    for name, (computing, parameters) in MODELS.items():
        for nodes in (2, 8, 64):
            size = 4 * parameters
            row = [name, str(nodes), f"{2 * (nodes - 1) * size / nodes / 1e6:.1f} MB"]
            for rate in NETWORKS.values():
                spent = exchange(nodes, size, rate)
                row += [f"{1000 * spent:.1f} ms", f"{100 * computing / (computing + spent):.0f} %"]
            print("| " + " | ".join(row) + " |")


if __name__ == "__main__":
    main()
