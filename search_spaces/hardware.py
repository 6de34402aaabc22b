"""What a node has, by the name that a space calls it."""

from search_spaces.fields import Count, Frozen, Positive


class Hardware(Frozen):
    """
    One kind of node; None where there is none, or where it is not known.

    Attributes:
        memory_gib: Of one GPU, 2^30 bytes, as its driver counts it.
        bandwidth_tb_per_s: Of one GPU's memory, 10^12 bytes a second.
        host_gib: Memory of the node that a cache outside the GPUs may use.
    """

    memory_gib: Positive | None = None
    bandwidth_tb_per_s: Positive | None = None
    gpus_per_node: Count | None = None
    host_gib: Positive | None = None
    source: str
