"""Steps from one schema version to the next that are the same SQL on every engine."""

TIERS = """
drop index notes_live_text;
create unique index notes_live_text on notes (space, content_hash) where state = 'live' and tier <> 'scratchpad';
create index notes_scratchpad on notes (space, tier, created_ms, id) where tier = 'scratchpad';
create index notes_semantic on notes (space, tier, id) where tier = 'semantic';
"""
