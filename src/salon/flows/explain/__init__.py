"""Why a picture has its score."""
