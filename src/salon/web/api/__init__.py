"""The studio for programs: JSON in, JSON out, one shape of error, a schema at /api/openapi.json."""
