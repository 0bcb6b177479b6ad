"""One reward in the shape that each trainer calls: TRL, verl, ms-swift, flow_grpo, Flow-Factory.

None of the trainers is imported; what each of them expects was read in its source, at the commit that the module names.
"""
