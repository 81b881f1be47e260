-- The whole schema of a recollect store, as the migrations leave it (a test proves the two equal).
-- Canonical: spaces, space_aliases, notes, links, revisions, events, sessions, turns, files, tombstones, tool_pairs,
-- meta.
-- Derived, always rebuildable: chunks, chunks_fts, space_sizes, models, vectors, removals, embedding_cache.
-- Neither: note_use, accesses.

create table meta (
  key text primary key,
  value text not null
) strict, without rowid;

-- Ids are handed out from here, so that none is ever used twice.
create table counters (
  name text primary key,
  value integer not null
) strict, without rowid;

create table spaces (
  id integer primary key,
  uid text not null unique,
  name text not null collate nocase unique,
  kind text not null,
  created_ms integer not null,
  merged_into integer references spaces(id),
  seq integer not null default 0,  -- number and hash of the space's newest event
  head text not null
) strict;

create table space_aliases (
  kind text not null,
  value text not null,
  space integer not null references spaces(id),
  primary key (kind, value)
) strict, without rowid;

create table notes (
  id integer primary key,
  space integer not null references spaces(id),
  uid text not null,
  rev integer not null,
  state text not null,
  kind text not null,
  tier text not null,
  title text not null,
  content text not null,
  context text not null,
  source text not null,
  origin text not null,
  session text,
  tags text not null,
  importance integer not null,
  confidence real not null,
  pinned integer not null,
  token_count integer not null,
  bytes integer not null,
  content_hash text not null,
  metadata text not null,
  created_ms integer not null,
  updated_ms integer not null,
  expires_ms integer,
  valid_from_ms integer,
  valid_to_ms integer,
  superseded_by text,
  salt blob not null
) strict;
create unique index notes_uid on notes (space, uid);
create unique index notes_live_text on notes (space, content_hash) where state = 'live' and tier <> 'scratchpad';
create index notes_scratchpad on notes (space, tier, created_ms, id) where tier = 'scratchpad';
create index notes_semantic on notes (space, tier, id) where tier = 'semantic';
create index notes_time on notes (space, created_ms, id);
create index notes_expiry on notes (expires_ms) where expires_ms is not null;
create index notes_session on notes (space, session) where session is not null;

create table links (
  space integer not null,
  note_id integer not null references notes(id) on delete cascade,
  to_uid text not null,
  kind text not null,
  primary key (note_id, to_uid, kind)
) strict, without rowid;
create index links_to on links (space, to_uid);

create table revisions (
  space integer not null,
  note_id integer not null references notes(id) on delete cascade,
  rev integer not null,
  operation text not null,
  at_ms integer not null,
  image text not null,
  salt blob not null,
  moved_from integer,
  primary key (note_id, rev)
) strict;

create table events (
  space integer not null references spaces(id),
  seq integer not null,
  operation text not null,
  verb text not null,
  uid text not null,
  rev integer not null,
  actor text not null,
  at_ms integer not null,
  digest text not null,
  hash text not null,
  primary key (space, seq)
) strict, without rowid;
create index events_operation on events (operation);

create table sessions (
  id integer primary key,
  space integer not null references spaces(id),
  uid text not null,
  agent text not null,
  key text not null,
  started_ms integer not null,
  seen_ms integer not null,
  ended_ms integer,
  title text not null,
  summary text not null,
  source text not null,
  moved_from integer,  -- the space that a merge took it from
  salt blob not null
) strict;
create unique index sessions_uid on sessions (space, uid);
create unique index sessions_key on sessions (space, agent, key);

create table turns (
  id integer primary key,
  space integer not null references spaces(id),
  session_id integer not null references sessions(id) on delete cascade,
  record text not null,
  position integer not null,
  speaker text not null,
  origin text not null,
  text text not null,
  at_ms integer not null,
  line integer,
  content_hash text not null
) strict;
create unique index turns_record on turns (session_id, record);
create index turns_position on turns (session_id, position);
create index turns_speaker on turns (space, speaker);

create table files (
  id integer primary key,
  space integer not null references spaces(id),
  path text not null,
  source text not null,  -- files, or sessions: a transcript, whose turns are kept apart from it
  reader text not null,
  hash text not null,
  mtime_ns integer not null,
  size integer not null,
  "offset" integer not null,  -- how far it was read, in bytes and lines, and what the reader needs to go on
  line integer not null,
  state text not null,
  indexed_ms integer not null
) strict;
create unique index files_path on files (space, path);
create index files_by_path on files (path);

-- Who does the background work of a store; a holder that died is replaced when its time is over.
create table leases (
  name text primary key,
  holder text not null,
  expires_ms integer not null
) strict, without rowid;

create table tombstones (
  space integer not null references spaces(id),
  what text not null,
  value text not null,
  at_ms integer not null,
  primary key (space, what, value)
) strict, without rowid;

-- `change` rises with every use and failure and is never used again; readers follow it.
create table tool_pairs (
  space integer not null references spaces(id),
  id text not null,
  server text not null,
  tool text not null,
  query text not null,  -- a digest of it where `hashed`
  hashed integer not null,
  confidence real not null,
  uses integer not null,
  failures integer not null,
  model text not null,  -- whose vector it is; empty while there is none
  vector blob not null,  -- float64, little-endian
  created_ms integer not null,
  last_used_ms integer not null,
  change integer not null default 0
) strict;
create unique index tool_pairs_id on tool_pairs (space, id);
create index tool_pairs_used on tool_pairs (space, last_used_ms);
create index tool_pairs_confidence on tool_pairs (space, confidence);
create index tool_pairs_change on tool_pairs (space, change);

create table chunks (
  id integer primary key,
  space integer not null references spaces(id),
  note_id integer references notes(id) on delete cascade,
  turn_id integer references turns(id) on delete cascade,
  file_id integer references files(id) on delete cascade,
  session_id integer,
  chunk_idx integer not null,
  content text not null,
  context text not null,
  file_path text,
  start_line integer,
  end_line integer,
  scope text not null,  -- the space as a term, so that a small space in a large store is found fast
  terms text not null,
  context_terms text not null,
  term_count integer not null,
  trusted integer not null,
  chunker integer not null,
  tokenizer integer not null,
  hash text not null,
  created_ms integer not null,
  check ((note_id is not null) + (turn_id is not null) + (file_id is not null) = 1)
) strict;
create index chunks_note on chunks (note_id) where note_id is not null;
create index chunks_turn on chunks (turn_id) where turn_id is not null;
create index chunks_file on chunks (file_id) where file_id is not null;
create index chunks_session on chunks (session_id) where session_id is not null;

create virtual table chunks_fts using fts5 (
  terms, context_terms, scope,
  content = 'chunks', content_rowid = 'id', tokenize = 'unicode61 remove_diacritics 0'
);

create table space_sizes (
  space integer primary key,
  chunks integer not null,
  terms integer not null
) strict;

-- New chunks are indexed by the writer, all of a call in one statement: FTS5 writes its pending terms out at the end of
-- every statement, and a trigger would make that one for each chunk.
create trigger chunks_removed after delete on chunks begin
  insert into chunks_fts (chunks_fts, rowid, terms, context_terms, scope)
    values ('delete', old.id, old.terms, old.context_terms, old.scope);
  update space_sizes set chunks = chunks - 1, terms = terms - old.term_count where space = old.space;
end;
create trigger chunks_rescoped after update of space, scope on chunks begin
  insert into chunks_fts (chunks_fts, rowid, terms, context_terms, scope)
    values ('delete', old.id, old.terms, old.context_terms, old.scope);
  insert into chunks_fts (rowid, terms, context_terms, scope)
    values (new.id, new.terms, new.context_terms, new.scope);
  update space_sizes set chunks = chunks - 1, terms = terms - old.term_count where space = old.space;
  update space_sizes set chunks = chunks + 1, terms = terms + new.term_count where space = new.space;
end;
create trigger spaces_added after insert on spaces begin
  insert into space_sizes (space, chunks, terms) values (new.id, 0, 0);
end;

create table models (
  id integer primary key,
  name text not null unique,
  dims integer not null
) strict;

-- `change` rises with every vector stored and is never used again; readers follow it.
create table vectors (
  change integer primary key autoincrement,
  space integer not null,
  model integer not null references models(id),
  chunk_id integer not null references chunks(id) on delete cascade,
  dtype text not null,
  vector blob not null
) strict;
create unique index vectors_chunk on vectors (chunk_id, model);
create index vectors_space on vectors (space, model);

create table removals (
  change integer primary key autoincrement,
  space integer not null,
  model integer not null,
  chunk_id integer not null
) strict;
create trigger vectors_removed after delete on vectors begin
  insert into removals (space, model, chunk_id) values (old.space, old.model, old.chunk_id);
end;

create table embedding_cache (
  provider text not null,
  model text not null,
  dims integer not null,
  hash text not null,
  vector blob not null,
  used_ms integer not null,
  primary key (provider, model, dims, hash)
) strict, without rowid;
create index embedding_cache_age on embedding_cache (used_ms);

create table note_use (
  space integer not null,
  note_id integer primary key references notes(id) on delete cascade,
  accesses integer not null,
  last_access_ms integer not null,
  strength real not null
) strict;

create table accesses (
  id integer primary key,
  space integer not null,
  note_id integer not null references notes(id) on delete cascade,
  how text not null,
  at_ms integer not null,
  score real,
  query text
) strict;
create index accesses_note on accesses (note_id);
