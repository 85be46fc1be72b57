"""Groups of tasks: what a release gate runs (`release`), the public benchmarks, and both."""
