-- The whole schema of a recollect store on PostgreSQL: the tables of the SQLite schema, with the space first in every
-- key, so that the database can be partitioned by it (spaces, aliases, models, meta and the cache are shared tables).
-- Text is compared byte by byte (collation "C"), as SQLite does. What belongs to a note follows it when its space
-- changes (on update cascade). Terms are indexed from `lexemes`, which our own code builds; the server parses nothing.

create table meta (
  key text collate "C" primary key,
  value text not null
);

create sequence spaces_ids;
create sequence notes_ids;
create sequence sessions_ids;
create sequence turns_ids;
create sequence files_ids;
create sequence chunks_ids;
create sequence models_ids;
create sequence pairs_ids;

create table spaces (
  id bigint primary key,
  uid text collate "C" not null unique,
  name text collate "C" not null,
  kind text not null,
  created_ms bigint not null,
  merged_into bigint references spaces (id),
  seq bigint not null default 0,  -- number and hash of the space's newest event
  head text not null
);
create unique index spaces_name on spaces (lower(name));

create table space_aliases (
  kind text collate "C" not null,
  value text collate "C" not null,
  space bigint not null references spaces (id),
  primary key (kind, value)
);

create table notes (
  id bigint not null,
  space bigint not null references spaces (id),
  uid text collate "C" not null,
  rev bigint not null,
  state text collate "C" not null,
  kind text collate "C" not null,
  tier text collate "C" not null,
  title text not null,
  content text not null,
  context text not null,
  source text collate "C" not null,
  origin text collate "C" not null,
  session text collate "C",
  tags text not null,
  importance bigint not null,
  confidence double precision not null,
  pinned smallint not null,
  token_count bigint not null,
  bytes bigint not null,
  content_hash text collate "C" not null,
  metadata text not null,
  created_ms bigint not null,
  updated_ms bigint not null,
  expires_ms bigint,
  valid_from_ms bigint,
  valid_to_ms bigint,
  superseded_by text collate "C",
  salt bytea not null,
  primary key (space, id)
);
create index notes_id on notes (id);
create unique index notes_uid on notes (space, uid);
create unique index notes_live_text on notes (space, content_hash) where state = 'live' and tier <> 'scratchpad';
create index notes_scratchpad on notes (space, tier, created_ms, id) where tier = 'scratchpad';
create index notes_semantic on notes (space, tier, id) where tier = 'semantic';
create index notes_time on notes (space, created_ms, id);
create index notes_expiry on notes (expires_ms) where expires_ms is not null;
create index notes_session on notes (space, session) where session is not null;

create table links (
  space bigint not null,
  note_id bigint not null,
  to_uid text collate "C" not null,
  kind text collate "C" not null,
  primary key (space, note_id, to_uid, kind),
  foreign key (space, note_id) references notes (space, id) on delete cascade on update cascade
);
create index links_to on links (space, to_uid);

create table revisions (
  space bigint not null,
  note_id bigint not null,
  rev bigint not null,
  operation text collate "C" not null,
  at_ms bigint not null,
  image text not null,
  salt bytea not null,
  moved_from bigint,
  primary key (space, note_id, rev),
  foreign key (space, note_id) references notes (space, id) on delete cascade on update cascade
);

create table events (
  space bigint not null references spaces (id),
  seq bigint not null,
  operation text collate "C" not null,
  verb text not null,
  uid text collate "C" not null,
  rev bigint not null,
  actor text not null,
  at_ms bigint not null,
  digest text not null,
  hash text not null,
  primary key (space, seq)
);
create index events_operation on events (operation);

create table sessions (
  id bigint not null,
  space bigint not null references spaces (id),
  uid text collate "C" not null,
  agent text collate "C" not null,
  key text collate "C" not null,
  started_ms bigint not null,
  seen_ms bigint not null,
  ended_ms bigint,
  title text not null,
  summary text not null,
  source text not null,
  moved_from bigint,  -- the space that a merge took it from
  salt bytea not null,
  primary key (space, id)
);
create unique index sessions_uid on sessions (space, uid);
create unique index sessions_key on sessions (space, agent, key);

create table turns (
  id bigint not null,
  space bigint not null references spaces (id),
  session_id bigint not null,
  record text collate "C" not null,
  position bigint not null,
  speaker text not null,
  origin text collate "C" not null,
  text text not null,
  at_ms bigint not null,
  line bigint,
  content_hash text collate "C" not null,
  primary key (space, id),
  foreign key (space, session_id) references sessions (space, id) on delete cascade on update cascade
);
create unique index turns_record on turns (space, session_id, record);
create index turns_position on turns (space, session_id, position);
create index turns_speaker on turns (space, speaker);

create table files (
  id bigint not null,
  space bigint not null references spaces (id),
  path text collate "C" not null,
  source text not null,
  reader text not null,
  hash text collate "C" not null,
  mtime_ns bigint not null,
  size bigint not null,
  "offset" bigint not null,
  line bigint not null,
  state text not null,
  indexed_ms bigint not null,
  primary key (space, id)
);
create unique index files_path on files (space, path);
create index files_by_path on files (path);

create table leases (
  name text collate "C" primary key,
  holder text not null,
  expires_ms bigint not null
);

create table tombstones (
  space bigint not null references spaces (id),
  what text collate "C" not null,
  value text collate "C" not null,
  at_ms bigint not null,
  primary key (space, what, value)
);

-- `change` rises with every use and failure and is never used again; readers follow it.
create table tool_pairs (
  space bigint not null references spaces (id),
  id text collate "C" not null,
  server text collate "C" not null,
  tool text collate "C" not null,
  query text not null,  -- a digest of it where `hashed`
  hashed smallint not null,
  confidence double precision not null,
  uses bigint not null,
  failures bigint not null,
  model text collate "C" not null,  -- whose vector it is; empty while there is none
  vector bytea not null,  -- float64, little-endian
  created_ms bigint not null,
  last_used_ms bigint not null,
  change bigint not null default 0,
  primary key (space, id)
);
create index tool_pairs_used on tool_pairs (space, last_used_ms);
create index tool_pairs_confidence on tool_pairs (space, confidence);
create index tool_pairs_change on tool_pairs (space, change);

create table chunks (
  id bigint not null,
  space bigint not null references spaces (id),
  note_id bigint,
  turn_id bigint,
  file_id bigint,
  session_id bigint,
  chunk_idx bigint not null,
  content text not null,
  context text not null,
  file_path text,
  start_line bigint,
  end_line bigint,
  scope text collate "C" not null,  -- the space as a term, so that a small space in a large store is found fast
  terms text not null,
  context_terms text not null,
  term_count bigint not null,
  trusted smallint not null,
  chunker bigint not null,
  tokenizer bigint not null,
  hash text collate "C" not null,
  created_ms bigint not null,
  lexemes tsvector not null,  -- terms with weight A, context terms with weight D
  primary key (space, id),
  foreign key (space, note_id) references notes (space, id) on delete cascade on update cascade,
  foreign key (space, turn_id) references turns (space, id) on delete cascade on update cascade,
  foreign key (space, file_id) references files (space, id) on delete cascade on update cascade,
  check (num_nonnulls(note_id, turn_id, file_id) = 1)
);
create index chunks_id on chunks (id);
create index chunks_note on chunks (space, note_id) where note_id is not null;
create index chunks_turn on chunks (space, turn_id) where turn_id is not null;
create index chunks_file on chunks (space, file_id) where file_id is not null;
create index chunks_session on chunks (space, session_id) where session_id is not null;
create index chunks_size on chunks (space) include (term_count);  -- totals of a space without visiting its rows
create index chunks_terms on chunks using gin ((array[scope]), lexemes) with (fastupdate = off);

create table models (
  id bigint primary key,
  name text collate "C" not null unique,
  dims bigint not null
);

-- A table of its own and kept inline up to a page: an exact scan then reads vectors and nothing else.
create table vectors (
  space bigint not null,
  model bigint not null references models (id),
  chunk_id bigint not null,
  change bigint generated always as identity,
  dtype text not null,
  vector vector storage external not null,
  primary key (space, model, chunk_id),
  foreign key (space, chunk_id) references chunks (space, id) on delete cascade on update cascade
) with (toast_tuple_target = 8160);
create index vectors_chunk on vectors (space, chunk_id);

create table embedding_cache (
  provider text collate "C" not null,
  model text collate "C" not null,
  dims bigint not null,
  hash text collate "C" not null,
  vector bytea not null,
  used_ms bigint not null,
  primary key (provider, model, dims, hash)
);
create index embedding_cache_age on embedding_cache (used_ms);
create index embedding_cache_hash on embedding_cache (hash);

create table note_use (
  space bigint not null,
  note_id bigint not null,
  accesses bigint not null,
  last_access_ms bigint not null,
  strength double precision not null,
  primary key (space, note_id),
  foreign key (space, note_id) references notes (space, id) on delete cascade on update cascade
);

create table accesses (
  space bigint not null,
  note_id bigint not null,
  id bigint generated always as identity,
  how text not null,
  at_ms bigint not null,
  score double precision,
  query text,
  primary key (space, note_id, id),
  foreign key (space, note_id) references notes (space, id) on delete cascade on update cascade
);
