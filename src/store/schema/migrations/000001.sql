-- Accounts, keys, money, tasks. PostgreSQL's now() is the only clock that decides (design section 1).

create table account (
  account_id text primary key,
  name text not null unique check (length(name) between 1 and 100),
  -- Models this account may use; null: all.
  models text[],
  created_at timestamptz not null default now()
);

-- The balances stand apart from account: foreign keys into this hot row would halve its rate.
-- fillfactor leaves room for updates in place.
create table balance (
  account_id text primary key,
  available bigint not null default 0 check (available >= 0),
  held bigint not null default 0 check (held >= 0),
  spent bigint not null default 0 check (spent >= 0)
) with (fillfactor = 50);

create table api_key (
  key_id text primary key,
  account_id text not null references account,
  -- First characters of the secret, for people to tell keys apart.
  prefix text not null,
  -- HMAC-SHA-256 of the secret under the pepper of this id; the secret itself is nowhere.
  pepper_id text not null,
  secret_hash bytea not null unique,
  created_at timestamptz not null default now(),
  expires_at timestamptz,
  revoked_at timestamptz
);
create index api_key_account on api_key (account_id);

-- Double entry: every row moves credits from one bucket of an account to another. `funding` is the
-- operator's side. No foreign key to task: the ledger outlives every task.
create table ledger (
  entry_id bigint generated always as identity primary key,
  account_id text not null,
  task_id text,
  kind text not null check (kind in ('deposit', 'hold', 'settle', 'release')),
  debit text not null,
  credit text not null,
  credits bigint not null check (credits > 0),
  created_at timestamptz not null default now(),
  check ((kind, debit, credit) in (
    ('deposit', 'funding', 'available'),
    ('hold', 'available', 'held'),
    ('settle', 'held', 'spent'),
    ('release', 'held', 'available')
  )),
  check ((kind = 'deposit') = (task_id is null))
);
create index ledger_account on ledger (account_id, entry_id);
create unique index ledger_one_hold on ledger (task_id) where kind = 'hold';
create unique index ledger_one_end on ledger (task_id) where kind in ('settle', 'release');

create function ledger_is_append_only() returns trigger language plpgsql as $$
begin
  raise exception 'the ledger is append-only';
end $$;
create trigger ledger_append_only before update or delete on ledger
  for each row execute function ledger_is_append_only();
create trigger ledger_no_truncate before truncate on ledger
  for each statement execute function ledger_is_append_only();

create table task (
  task_id text primary key check (task_id ~ '^task_[0-9A-Za-z]{32}$'),
  account_id text not null references account,
  key_id text not null,
  route text not null,
  family text not null check (family in ('A', 'B')),
  model text not null,
  action text not null check (action in ('generate', 'edit')),
  size text,
  quality text,
  -- The request as JSON text (jsonb cannot hold every legal string). Null once nobody needs it.
  request text,
  -- SHA-256 of the canonical request.
  fingerprint bytea not null,
  -- SHA-256 of the Idempotency-Key, for the operator's search by key; the key itself is nowhere.
  key_digest bytea,
  credits bigint not null check (credits >= 0),
  status text not null default 'queued' check (status in ('queued', 'processing', 'succeeded', 'failed')),
  created_at timestamptz not null default now(),
  -- No attempt begins from here on.
  deadline_at timestamptz not null,
  -- Failed whatever happens, unless an answer is stored.
  hard_end_at timestamptz not null,
  -- The workflow is known to exist.
  started_at timestamptz,
  processing_at timestamptz,
  completed_at timestamptz,
  -- Result is gone from here on (succeeded tasks).
  expires_at timestamptz,
  -- The record and its key are gone from here on.
  purge_at timestamptz,
  failure_code text,
  failure_cause text,
  failure_work_possible boolean,
  failure_retry_after_ms bigint,
  -- The model's own refusal, as JSON text (family A).
  native_refusal text,
  -- The stored answer that was settled.
  answer_id text,
  asset_mime_type text,
  asset_bytes bigint,
  asset_sha256 text,
  retry_of text,
  -- The reconciler looks at a row that is overdue for a sign of life; checks double their distance.
  next_check_at timestamptz not null default now() + interval '2 seconds',
  checks integer not null default 0,
  check ((status in ('succeeded', 'failed')) = (completed_at is not null)),
  check ((status = 'failed') = (failure_code is not null)),
  check ((status = 'succeeded') = (answer_id is not null))
) with (fillfactor = 70);
create index task_account on task (account_id, created_at);
create index task_created on task (created_at);
create index task_next_check on task (next_check_at) where status in ('queued', 'processing');
create index task_purge on task (purge_at) where purge_at is not null;
-- A failed task is retried once: the second of two retries at once finds this.
create unique index task_retry_of on task (retry_of) where retry_of is not null;

-- One live key of one account is one task. Freed by purge, and by ends of synchronous calls without work.
create table idempotency_key (
  account_id text not null,
  key_digest bytea not null,
  task_id text not null unique references task on delete cascade,
  primary key (account_id, key_digest)
);

-- A place in the blob store, recorded before its first byte is written and swept by this row only.
create table upload (
  upload_id text primary key,
  kind text not null check (kind in ('input', 'answer')),
  -- Set when a task takes the staged inputs over, and at birth for answers.
  task_id text,
  created_at timestamptz not null default now(),
  sweep_after timestamptz not null
);
create index upload_sweep on upload (sweep_after);
create index upload_task on upload (task_id);

create table attempt (
  task_id text not null references task on delete cascade,
  n integer not null check (n > 0),
  channel text not null,
  model text not null,
  -- Where the answer of this attempt is stored.
  answer_id text not null,
  -- Stays the same through a chain of unknown outcomes.
  upstream_key text not null,
  opened_at timestamptz not null default clock_timestamp(),
  -- An open attempt counts against the channel's concurrency until here.
  lease_until timestamptz not null,
  closed_at timestamptz,
  class text check (class in ('succeeded', 'refused', 'rejected', 'exhausted', 'operator_fault', 'unknown')),
  reason text,
  http_status integer,
  upstream_request_id text,
  latency_ms integer,
  retry_after_ms bigint,
  primary key (task_id, n),
  check ((closed_at is null) = (class is null))
);
create index attempt_open on attempt (channel, model) where closed_at is null;

create table channel (
  name text primary key,
  paused_at timestamptz,
  pause_reason text,
  -- Different tasks in a row that met an operator's fault; any other answer resets it.
  faults integer not null default 0,
  fault_task_id text
);

-- Cooldown and slow start of one model on one channel; the meaning of each column is in
-- src/domain/cooldown.ts. No row: never refused.
create table cooldown (
  channel text not null,
  model text not null,
  until_at timestamptz not null,
  window_at timestamptz,
  granted integer not null default 0,
  learned integer not null default 1,
  refusals integer not null default 0,
  slot_at timestamptz not null,
  slot_ms double precision not null default 0,
  primary key (channel, model)
) with (fillfactor = 50);

-- Facts of the whole installation: `store_id` (which blob store belongs to this database).
create table installation (
  name text primary key,
  value text not null
);

-- The way out of a single statement that turns out to have written what it may not keep: it fails, and
-- with it everything it wrote. SQLSTATE DR001, the reason as message.
create function refuse(reason text) returns boolean language plpgsql as $$
begin
  raise exception using errcode = 'DR001', message = reason;
end $$;
