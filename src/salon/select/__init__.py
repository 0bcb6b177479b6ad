"""Select: put scores to work. The best of several pictures, gates, routes, chains, rewards.

A stage of its own: it takes items and numbers (whoever gave them) and decides.
"""
