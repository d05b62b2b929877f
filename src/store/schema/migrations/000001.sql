-- The whole schema: accounts and money, tasks and their attempts, channels, the installation.
--
-- PostgreSQL's clock alone decides deadlines, expiry and cooldowns, so that the clocks of API and
-- worker machines need not agree. Transactions lock rows in this order: task, channel, cooldown,
-- balance.

-- ACCOUNTS AND MONEY

create table account (
  account_id text primary key,
  name text not null unique check (length(name) between 1 and 100),
  -- Models that the account may use. Null: every model.
  models text[],
  created_at timestamptz not null default now()
);

create table api_key (
  key_id text primary key,
  account_id text not null references account,
  -- The first characters of the secret, so that people can tell keys apart.
  prefix text not null,
  -- HMAC-SHA-256 of the secret under the pepper with this id. The secret itself is not stored.
  pepper_id text not null,
  secret_hash bytea not null unique,
  created_at timestamptz not null default now(),
  -- Null: the key does not expire.
  expires_at timestamptz,
  revoked_at timestamptz
);
create index api_key_account on api_key (account_id);

-- Credits of each account. The balance is not part of `account`: every submit updates it, and each
-- foreign key check against a row under update takes a lock on that row as well, which halves the rate
-- of submits on one busy account. The fillfactor leaves room on each page, so that an update needs no
-- new index entry.
create table balance (
  account_id text primary key,
  available bigint not null default 0 check (available >= 0),
  held bigint not null default 0 check (held >= 0),
  spent bigint not null default 0 check (spent >= 0)
) with (fillfactor = 50);

-- Double entry: each row moves credits from one bucket of an account (debit) to another (credit).
-- `funding` is the operator's side of a deposit. The ledger is kept for ever, so it has no foreign key
-- to `task`, whose rows are purged.
create table ledger (
  entry_id bigint generated always as identity primary key,
  account_id text not null,
  -- Null for deposits only.
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
-- A task has at most one hold, and at most one settle or release.
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

-- TASKS

create table task (
  task_id text primary key check (task_id ~ '^task_[0-9A-Za-z]{32}$'),

  -- Who asked, and by which route.
  account_id text not null references account,
  key_id text not null,
  route text not null,
  -- The failed task that this task retries.
  retry_of text,

  -- What was asked for. `request` is JSON in a text column because jsonb refuses some legal strings; it
  -- is null when neither a call nor a retry can need it.
  family text not null check (family in ('A', 'B')),
  model text not null,
  action text not null check (action in ('generate', 'edit')),
  size text,
  quality text,
  request text,
  -- SHA-256 of the canonical request: a replay must have the same fingerprint.
  fingerprint bytea not null,
  -- SHA-256 of the Idempotency-Key, for the operator's search by key. The key itself is not stored.
  key_digest bytea,
  -- The price, held at submit. Zero: free, without ledger rows.
  credits bigint not null check (credits >= 0),

  -- Status, and when it changed.
  status text not null default 'queued' check (status in ('queued', 'processing', 'succeeded', 'failed')),
  created_at timestamptz not null default now(),
  -- The task's workflow is known to exist in Temporal since then.
  started_at timestamptz,
  -- The first upstream call began.
  processing_at timestamptz,
  completed_at timestamptz,

  -- Time limits. No attempt begins at or after `deadline_at`. At `hard_end_at` every call of the task is
  -- over, and the task ends unless it has a stored answer.
  deadline_at timestamptz not null,
  hard_end_at timestamptz not null,
  -- From then on the image of a succeeded task is gone.
  expires_at timestamptz,
  -- From then on the record of an ended task is gone, and its idempotency key is free.
  purge_at timestamptz,

  -- How a failed task ended. `failure_work_possible`: a call may have done paid work upstream.
  failure_code text,
  failure_cause text,
  failure_work_possible boolean,
  failure_retry_after_ms bigint,
  -- The answer of a family A model that refused to draw, JSON text, for synchronous callers.
  native_refusal text,

  -- How a succeeded task ended: the upload with the published answer, and its image.
  answer_id text,
  asset_mime_type text,
  asset_bytes bigint,
  asset_sha256 text,
  -- The native response around the image, JSON text, kept until the image's bytes are swept, so that a
  -- lookup needs no blob store.
  native_response text,

  -- When the reconciler looks at a live row that no worker has updated, and how many times it has
  -- looked since then without ending the task: the pause between two checks doubles.
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
-- A failed task is retried once, even when two retries begin at the same moment.
create unique index task_retry_of on task (retry_of) where retry_of is not null;
-- For metrics: succeeded tasks with an image and failed tasks are counted in these indexes alone,
-- because the table holds every record for days (src/store/sampleState.ts).
create index task_kept on task (expires_at) include (asset_bytes) where status = 'succeeded';
create index task_failed on task (purge_at) where status = 'failed';

-- One key of one account names one task. A row is deleted when the task is purged, and when a
-- synchronous task ends in a way that makes the caller's retry a new task.
create table idempotency_key (
  account_id text not null,
  key_digest bytea not null,
  task_id text not null unique references task on delete cascade,
  primary key (account_id, key_digest)
);

-- A key prefix in the blob store. The row is written before the first byte and deleted after the last,
-- so that the sweep finds every blob by its row.
create table upload (
  upload_id text primary key,
  kind text not null check (kind in ('input', 'answer')),
  -- Null: staged inputs that no task has taken over.
  task_id text,
  -- The images of the inputs that a task has taken over. Null: of an answer, or not known yet.
  bytes bigint,
  created_at timestamptz not null default now(),
  -- From then on the sweep deletes the blobs. `-infinity`: the sweep has taken the upload.
  sweep_after timestamptz not null,
  -- When the sweep tries a taken upload again. Blobs that cannot be deleted do not hold up the others.
  next_try_at timestamptz
);
create index upload_task on upload (task_id);
-- For metrics and the limit per account: inputs that tasks hold.
create index upload_input on upload (task_id) include (bytes, sweep_after) where kind = 'input';
create index upload_due on upload (coalesce(next_try_at, sweep_after));

-- One upstream call of a task. Every attempt has a row before its call is sent.
create table attempt (
  task_id text not null references task on delete cascade,
  n integer not null check (n > 0),
  channel text not null,
  model text not null,
  -- The upload where this attempt stores its answer.
  answer_id text not null,
  -- The Idempotency-Key sent upstream. It stays the same through a chain of unknown outcomes.
  upstream_key text not null,

  opened_at timestamptz not null default clock_timestamp(),
  -- Until then an open attempt takes a place on its channel.
  lease_until timestamptz not null,
  -- Presence: the worker updates this every few seconds while the call is under way, so that no other
  -- worker repeats a call because Temporal has lost sight of the first worker.
  seen_at timestamptz not null default clock_timestamp(),
  -- When another worker first found this one silent. The call counts as lost only when it is still
  -- silent some seconds later: while PostgreSQL was unreachable, every worker was silent.
  doubted_at timestamptz,

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

-- CHANNELS

-- Every configured channel has a row. Transactions that count open attempts and open one more lock it.
create table channel (
  name text primary key,
  paused_at timestamptz,
  pause_reason text,
  -- Different tasks in a row whose call failed by the operator's fault. Any other outcome except a
  -- refusal sets it to 0.
  faults integer not null default 0,
  fault_task_id text
);

-- Cooldown and slow start of one model on one channel. src/domain/gate/cooldown.ts defines the columns.
-- No row: the model was not refused lately.
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

-- Tasks that wait for a place on a full channel, so that a free place goes to the next task in the
-- queue and not to the task that happens to ask first (src/store/channels/placeQueue.ts). Unlogged:
-- after a crash of PostgreSQL the table is empty, and waiting tasks join again when they ask again.
create unlogged table place_queue (
  channel text not null,
  task_id text not null,
  account_id text not null,
  -- A client holds a connection open for the task.
  sync boolean not null,
  since timestamptz not null default clock_timestamp(),
  -- A task that has not asked again by then has left the queue.
  present_until timestamptz not null,
  primary key (channel, task_id)
) with (fillfactor = 50);

-- THE INSTALLATION

-- `store_id`: the blob store that belongs to this database.
create table installation (
  name text primary key,
  value text not null
);

-- FUNCTIONS

-- Makes a single statement fail after it has written rows that must not stay: the error rolls all of
-- them back. SQLSTATE DR001, with the reason as its message.
create function refuse(reason text) returns boolean language plpgsql as $$
begin
  raise exception using errcode = 'DR001', message = reason;
end $$;

-- The gate's fast path (src/store/attempts/beginFirstCall.ts): opens the first attempt of a queued task
-- on a channel that is free. It locks rows in the gate's order and reads every condition after the
-- locks: in PL/pgSQL, each statement sees what was committed before that statement began.
--
-- Returns the milliseconds until the task's hard end, and the request. Null: a condition failed and nothing
-- was written.
create function begin_first_call(
  the_task text,
  the_channel text,
  concurrency_max integer,
  the_answer text,
  the_upstream_key text,
  -- The longest call on this channel, and how much longer the lease of the attempt runs. Milliseconds.
  timeout_ms float8,
  lease_grace_ms float8,
  out hard_end_ms float8,
  out request text
)
language plpgsql as $$
declare
  queued task;
  lease_until timestamptz;
begin
  select * into queued from task where task_id = the_task and status = 'queued' for update;
  if not found then return; end if;
  perform from channel where name = the_channel and paused_at is null for update;
  if not found
    or clock_timestamp() >= queued.deadline_at
    or exists (select from cooldown where channel = the_channel and model = queued.model)
    or exists (
      select from place_queue
      where channel = the_channel and task_id <> the_task and present_until > clock_timestamp()
    )
    or concurrency_max <= (
      select count(*) from attempt a
      where a.channel = the_channel and a.closed_at is null and a.lease_until > clock_timestamp()
    )
  then return; end if;
  hard_end_ms := extract(epoch from queued.hard_end_at - clock_timestamp()) * 1000;
  lease_until := clock_timestamp()
    + (least(timeout_ms, hard_end_ms) + lease_grace_ms) * interval '1 millisecond';
  insert into attempt
    (task_id, n, channel, model, answer_id, upstream_key, lease_until, seen_at)
    values (the_task, 1, the_channel, queued.model, the_answer, the_upstream_key, lease_until,
      clock_timestamp());
  insert into upload (upload_id, kind, task_id, sweep_after)
    values (the_answer, 'answer', the_task, 'infinity');
  delete from place_queue where task_id = the_task;
  update task set status = 'processing', processing_at = clock_timestamp(), checks = 0,
    next_check_at = least(hard_end_at, lease_until)
  where task_id = the_task;
  request := queued.request;
end $$;
