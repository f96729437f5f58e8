"""A former module, whose error names its replacements."""

raise ImportError(
    "multigrid.integrations.parallel_vector is no longer there; for other ParallelEnvs use SuperSuit's "
    "pettingzoo_env_to_vec_env_v1, for multigrid's own worlds multigrid.vector_env"
)
