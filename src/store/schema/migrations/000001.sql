-- The whole schema: accounts and money, the audit of operators, tasks and their attempts, channels, webhooks, and the
-- installation.
--
-- Only PostgreSQL's clock decides deadlines, expiry and cooldowns, so the clocks of the API and worker
-- machines need not agree. Transactions lock rows in this order: task, channel, attempt, cooldown, budget, balance.

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
  -- The HMAC-SHA-256 of the secret, made with the pepper that has this id. The secret itself is not stored.
  pepper_id text not null,
  secret_hash bytea not null unique,
  created_at timestamptz not null default now(),
  -- Null: the key does not expire.
  expires_at timestamptz,
  revoked_at timestamptz,
  -- At most so many credits may be held by the key's submits in each period. Null: no budget.
  budget_credits bigint check (budget_credits > 0),
  budget_period text check (budget_period in ('hour', 'day', 'week', 'month')),
  check ((budget_credits is null) = (budget_period is null))
);

-- What the submits of one period have taken from the budget of their key: the holds of live tasks, and what
-- was settled. A release or a refund takes its credits out again. Keys without a budget have no rows.
create table budget_use (
  key_id text not null,
  starts_at timestamptz not null,
  ends_at timestamptz not null,
  -- As in the row of the key.
  budget_credits bigint not null,
  used bigint not null default 0 check (used >= 0),
  -- Whether the budget has refused a submit in this period.
  refused boolean not null default false,
  -- The highest percentage of which webhooks were told in this period.
  told_percent integer not null default 0 check (told_percent in (0, 80, 100)),
  primary key (key_id, starts_at)
) with (fillfactor = 50);

-- The credits of each account. They are not part of `account`, because every submit updates them. A foreign
-- key check also locks the row of `account`. If submits updated that row too, one busy account could submit
-- only half as fast. The fillfactor leaves room on each page, so that most updates need no new index entry.
create table balance (
  account_id text primary key,
  available bigint not null default 0 check (available >= 0),
  -- All deposits together, without what was taken back.
  deposited bigint not null default 0,
  -- The limits of the account. They stand here because a submit reads them under the lock that it takes for the price.
  -- So many requests at once, and their refill in a period, one after the other. Null: no limit.
  requests_limit integer check (requests_limit > 0),
  requests_period text check (requests_period in ('second', 'minute', 'hour')),
  -- How long the refill of one request takes.
  requests_interval interval generated always as (
    case requests_period when 'second' then interval '1 second' when 'minute' then interval '1 minute'
      when 'hour' then interval '1 hour' end / requests_limit
  ) stored,
  -- When all requests so far will be refilled. Null, or in the past: all are.
  requests_tat timestamptz,
  -- At most so many live tasks. Null: no limit.
  live_tasks_limit integer check (live_tasks_limit > 0),
  -- Webhooks are told when less than this is available. Null: never.
  alert_below bigint check (alert_below > 0),
  -- Whether they are told the next time. Setting the alert and each deposit arm it; telling disarms it.
  alert_armed boolean not null default false check (not alert_armed or alert_below is not null),
  check (available <= deposited),
  check ((requests_limit is null) = (requests_period is null))
) with (fillfactor = 50);

-- Whether one more request fits at an instant. Null: there is no limit.
create function request_fits(b balance, at timestamptz) returns boolean language sql stable as $$
  select coalesce(b.requests_tat, '-infinity') <= at + (b.requests_limit - 1) * b.requests_interval
$$;

-- `requests_tat` after one more request at an instant. Null: there is no limit.
create function request_taken(b balance, at timestamptz) returns timestamptz language sql stable as $$
  select greatest(b.requests_tat, at) + b.requests_interval
$$;

-- The limits and how long the refill of all requests still takes, as `LimitsRow` in src/store/accounts/setLimits.ts.
create function account_limits(b balance) returns json language sql as $$
  select json_build_object(
    'requests', case when b.requests_limit is not null then json_build_object(
      'limit', b.requests_limit, 'period', b.requests_period,
      'refillUs', greatest(0, extract(epoch from b.requests_tat - clock_timestamp()) * 1000000)::bigint) end,
    'liveTasks', b.live_tasks_limit)
$$;

-- Double-entry bookkeeping: each row moves credits from one bucket of an account (debit) to another (credit), and its
-- kind says which. `funding` is where the operator's deposits come from, and where what is taken back (`withdraw`) goes. The
-- ledger is kept for ever. It has no foreign key to `task`, because rows of `task` are purged.
create table ledger (
  entry_id bigint generated always as identity primary key,
  account_id text not null,
  -- Null for deposits and withdrawals only.
  task_id text,
  kind text not null,
  debit text generated always as (
    case kind when 'deposit' then 'funding' when 'withdraw' then 'available' when 'hold' then 'available' else 'held' end
  ) virtual,
  credit text generated always as (
    case kind when 'withdraw' then 'funding' when 'hold' then 'held' when 'settle' then 'spent' else 'available' end
  ) virtual,
  -- 0 for a task with a price of zero.
  credits bigint not null check (credits >= 0),
  -- The API key and the model of the task, in the row of its end. Usage is counted from these rows, because
  -- rows of `task` are purged. In the row of a hold, `key_id` is the key whose budget the hold counts against.
  -- It is null for the retry of a task, which counts against no budget.
  key_id text,
  model text,
  -- The operator's name for a deposit or withdrawal, so that it moves credits once.
  topup_id text,
  -- In the row of an end, the channel that made the image, or the channel of the last attempt of a task that failed.
  -- Null when the failed task had no attempt.
  channel text,
  -- The row of an end has the task's `completed_at`.
  created_at timestamptz not null default now(),
  constraint ledger_valid check (case kind
    when 'deposit' then credits > 0 and num_nonnulls(task_id, key_id, model) = 0
    when 'withdraw' then credits > 0 and num_nonnulls(task_id, key_id, model) = 0
    when 'hold' then task_id is not null and model is null
    when 'settle' then num_nulls(task_id, key_id, model, channel) = 0
    when 'refund' then credits > 0 and num_nulls(task_id, key_id, model, channel) = 0
    when 'release' then num_nulls(task_id, key_id, model) = 0
    else false end),
  check (topup_id is null or kind in ('deposit', 'withdraw')),
  check (channel is null or kind in ('settle', 'refund', 'release'))
);
create unique index ledger_topup on ledger (account_id, topup_id) where topup_id is not null;
-- The ends of an account's tasks by time, with all that usage needs, so that usage reads this index alone
-- (src/store/accounts/readUsage.ts).
create index ledger_end on ledger (account_id, created_at) include (kind, model, key_id, channel, credits)
  where kind in ('settle', 'release');
-- For the entries of an account (src/store/operator/listEntries.ts).
create index ledger_account on ledger (account_id, created_at, entry_id);
-- A task has at most one hold, at most one settle or release, and at most one refund, which a settle makes whose image
-- is smaller than asked. Settle and refund together are the hold.
create unique index ledger_one_hold on ledger (task_id) where kind = 'hold';
create unique index ledger_one_end on ledger (task_id) where kind in ('settle', 'release');
create unique index ledger_one_refund on ledger (task_id) where kind = 'refund';

create function is_append_only() returns trigger language plpgsql as $$
begin
  raise exception 'the % is append-only', tg_table_name;
end $$;
create trigger ledger_append_only before update or delete on ledger
  for each row execute function is_append_only();
create trigger ledger_no_truncate before truncate on ledger
  for each statement execute function is_append_only();

-- OPERATORS

-- Who changed what, through the CLI, the admin API or the console. The row is written in the transaction of the change
-- (src/operations/audit.ts), and kept for ever. A refused change has a row too.
create table audit (
  audit_id bigint generated always as identity primary key,
  at timestamptz not null default clock_timestamp(),
  -- `cli:USER@HOST`, `cli:DARKROOM_ACTOR` or `admin:KEY_ID`.
  actor text not null,
  -- In the words of the CLI: `account.topup`.
  action text not null,
  -- The name or id of what was changed.
  target text not null,
  -- The input, without secrets.
  params jsonb not null,
  -- `done`, or the code of the refusal.
  outcome text not null
);
create index audit_target on audit (target, audit_id);
create trigger audit_append_only before update or delete on audit
  for each row execute function is_append_only();
create trigger audit_no_truncate before truncate on audit
  for each statement execute function is_append_only();

-- TASKS

create table task (
  task_id text primary key check (task_id ~ '^task_[0-9A-Za-z]{32}$'),

  -- Who asked, and by which route.
  account_id text not null references account,
  key_id text not null,
  route text not null,
  -- The failed task that this task retries.
  retry_of text,

  -- What the client asked for. `request` is JSON in a text column, because jsonb does not accept some legal
  -- strings. It is null when neither a call nor a retry can need it.
  family text not null check (family in ('A', 'B')),
  model text not null,
  action text not null check (action in ('generate', 'edit')),
  size text,
  quality text,
  request text,
  -- The SHA-256 of the canonical request. A replay must have the same fingerprint.
  fingerprint bytea not null,
  -- The SHA-256 of the Idempotency-Key, so that an operator can find a task by its key. The key itself is not
  -- stored.
  key_digest bytea,
  -- The `x-request-id` of the answer to the request that made the task. Null for a retry by an operator.
  request_id text,
  -- The span of the client that asked, as 55 characters of W3C Trace Context. The task's trace continues it.
  traceparent text,
  -- The price, which is held at submit.
  credits bigint not null check (credits >= 0),
  -- What images of fewer pixels cost, at the prices of the submit: `[{"belowPixels", "credits"}]`, as in
  -- src/domain/models/smallerPrices.ts. Null: every image costs the price.
  smaller_prices jsonb,
  -- What went back of the price at the end, because the image is smaller than asked.
  refunded bigint not null default 0 check (refunded between 0 and credits),

  -- The status, and when it changed. A task is live while `completed_at` is null.
  status text not null default 'queued' check (status in ('queued', 'processing', 'succeeded', 'failed')),
  created_at timestamptz not null default now(),
  -- When the task's workflow was first known to exist in Temporal.
  started_at timestamptz,
  -- When the first upstream call began.
  processing_at timestamptz,
  completed_at timestamptz,

  -- Its attempts: how many were opened, which one is open, and whether an upstream call may have done paid work. A
  -- call may have done work when its attempt was closed as unknown. An ended task has no open attempt here, though the
  -- row of an attempt may stay open until its worker closes it.
  attempts integer not null default 0,
  open_attempt integer,
  work_possible boolean not null default false,

  -- Time limits. No attempt begins at or after `deadline_at`. By `hard_end_at` every call of the task is
  -- over, and the task then ends. It succeeds only if it has a stored answer.
  deadline_at timestamptz not null,
  hard_end_at timestamptz not null,
  -- When the image of a succeeded task expires.
  expires_at timestamptz,
  -- When the record of an ended task expires and its idempotency key becomes free.
  purge_at timestamptz,

  -- How a failed task ended.
  failure_code text,
  failure_cause text,
  failure_retry_after_ms bigint,
  -- How long the request and the inputs of a failed task are kept for a retry, and their bytes together. Null:
  -- they are not kept.
  retry_until timestamptz,
  retry_bytes bigint,
  -- The answer of a family A model that refused to draw, as JSON text, for synchronous callers.
  native_rejection text,

  -- How a succeeded task ended: the upload that contains the published answer, and the image in it.
  answer_id text,
  asset_mime_type text,
  asset_bytes bigint,
  asset_sha256 text,
  -- In pixels. Null: not known.
  asset_width integer,
  asset_height integer,
  -- The native response without the image bytes, as JSON text. It is kept until the image's bytes are swept,
  -- so that a lookup does not need the blob store.
  native_response text,

  -- When the reconciler looks after the live task if no worker updates the row before. The statement that claims
  -- the task for a check plans the next one. `checks` counts the checks since the last update by a worker: the
  -- pause doubles with each.
  next_check_at timestamptz not null default now() + interval '2 seconds',
  checks integer not null default 0,

  check ((status in ('succeeded', 'failed')) = (completed_at is not null)),
  check ((status = 'failed') = (failure_code is not null)),
  check ((status = 'succeeded') = (answer_id is not null)),
  check (open_attempt is null or (open_attempt = attempts and completed_at is null))
) with (fillfactor = 70);
-- For the lists of tasks, newest first (src/store/tasks/taskLists.ts), with every column of a filter: the lists read the
-- rows of what they show alone.
create index task_account on task (account_id, created_at, task_id)
  include (status, model, action, failure_code, expires_at, purge_at);
create index task_failed on task (account_id, created_at, task_id)
  include (status, model, action, failure_code, purge_at) where status = 'failed';
-- For finding a task by what a client has of it (src/store/operator/findById.ts). A failed task may have lost its row of
-- `idempotency_key`.
create index task_request on task (request_id);
create index task_key on task (key_digest) where key_digest is not null;
-- What an account holds, and how many live tasks it has.
-- Its condition differs from that of `task_due`, so that PostgreSQL never looks for an account's tasks among all live ones.
create index task_live on task (account_id) include (credits) where completed_at is null;
-- The live tasks that are due for a check by the reconciler (src/store/tasks/dueTasks.ts).
create index task_due on task (next_check_at) where status in ('queued', 'processing');
create index task_purge on task (purge_at) where purge_at is not null;
-- A failed task can be retried once, even if two retries begin at the same moment.
create unique index task_retry_of on task (retry_of) where retry_of is not null;
-- For the limit of what an account keeps, and for deleting what is no longer kept.
create index task_retry_until on task (retry_until) include (account_id, retry_bytes, task_id)
  where retry_until is not null;

-- The credits of each account in all buckets. Live tasks hold their price, and what is neither available nor held is
-- spent. So an image that is paid for changes no balance, and waits for no other task of its account.
create view account_balance as
  select account_id, available, coalesce(held, 0) as held, deposited - available - coalesce(held, 0) as spent, deposited,
    alert_below,
    json_strip_nulls(json_build_object(
      'requests', account_limits(balance) -> 'requests',
      'liveTasks', case when live_tasks_limit is not null
        then json_build_object('limit', live_tasks_limit, 'used', coalesce(live_tasks, 0)) end)) as limits
  from balance left join (
    select account_id, sum(credits)::bigint as held, count(*) as live_tasks
    from task where completed_at is null group by account_id
  ) live using (account_id);

-- One key of one account names one task. The row is deleted when the task is purged. It is also deleted when
-- a synchronous task fails in a way that lets the client's next request start a new task.
create table idempotency_key (
  account_id text not null,
  key_digest bytea not null,
  task_id text not null unique references task on delete cascade,
  primary key (account_id, key_digest)
);

-- A key prefix in the blob store. The row is written before the first byte and deleted after the last byte,
-- so that the sweep finds every blob by a row.
create table upload (
  upload_id text primary key,
  kind text not null check (kind in ('input', 'answer')),
  -- Null: inputs that no task has taken over.
  task_id text,
  -- The images of the inputs that a task has taken over. Null: of an answer, or not known yet.
  bytes bigint,
  created_at timestamptz not null default now(),
  -- When the sweep may delete the blobs. `-infinity` means that the sweep has taken the upload.
  sweep_after timestamptz not null,
  -- When the sweep tries again to delete the blobs of a taken upload. In the meantime it deletes other
  -- uploads.
  next_try_at timestamptz
);
create index upload_task on upload (task_id);
create index upload_due on upload (coalesce(next_try_at, sweep_after));

-- One row for each process that makes upstream calls. The process sends a beat every second while it runs, and
-- deletes its row when it stops. The open calls of a process without a row, or with an old beat, are lost
-- (src/store/attempts/beatStore.ts).
create table worker_process (
  -- A random id for each start of a process.
  process_id text primary key,
  -- The last beat.
  seen_at timestamptz not null default clock_timestamp(),
  -- Since when no two beats of the process were more than three seconds apart.
  steady_since timestamptz not null default clock_timestamp()
) with (fillfactor = 50);

-- One upstream call of a task. The row of an attempt is written before its call is sent. Every attempt is closed, also
-- the one of a task that has ended: by its worker, or by who finds its worker lost.
create table attempt (
  task_id text not null references task on delete cascade,
  n integer not null check (n > 0),
  channel text not null,
  model text not null,
  -- The upload where this attempt stores its answer.
  answer_id text not null,
  -- The process that makes the call.
  process_id text not null,
  -- How the task came to the process: in a direct run (`direct`), or through the activity of its workflow.
  via text not null check (via in ('direct', 'workflow')),

  opened_at timestamptz not null default clock_timestamp(),
  -- The lease. Until this time an open attempt takes a place on its channel.
  lease_until timestamptz not null,

  closed_at timestamptz,
  class text check (class in
    ('succeeded', 'refused', 'rejected', 'exhausted', 'declined', 'operator_fault', 'unknown')),
  reason text,
  http_status integer,
  upstream_request_id text,
  -- The vendor's own code or reason, within bounds.
  vendor_code text check (vendor_code ~ '^[0-9A-Za-z_.-]{1,64}$'),
  latency_ms integer,
  retry_after_ms bigint,
  primary key (task_id, n),
  check ((closed_at is null) = (class is null) and (closed_at is null) = (reason is null))
);
-- The calls under way of a channel and model.
create index attempt_open on attempt (channel, model) where closed_at is null;
-- For counting the calls of the last hour.
create index attempt_closed on attempt (closed_at) include (channel, class) where closed_at is not null;
-- For counting what a channel has declined lately, by status and code.
create index attempt_declined on attempt (channel, closed_at) where class = 'declined';
-- For finding a task by the id that its vendor names.
create index attempt_upstream_request on attempt (upstream_request_id) where upstream_request_id is not null;

-- CHANNELS

-- Every configured channel has a row. `open_attempt` locks it while it counts the channel's calls and opens one more.
create table channel (
  name text primary key,
  paused_at timestamptz,
  pause_reason text
);

-- Why a channel gets no calls, or fewer, for one model, or for every model when `model` is `*`. No call begins before
-- `until_at`. Afterwards at most `max` calls are under way, and one begins in 200 ms at most. Every image adds one to
-- `max`, and a refusal of a call that began after `until_at` halves it. The row no longer limits when `max` has reached
-- the places of the channel, and no longer counts (`cooldown_counts`) 60 seconds after its `until_at`.
--
-- A fault (a wrong credential, an unknown model) counts until the first image: one call goes at the end of each
-- `until_at`, and when it fails too, `length_ms` doubles.
create table cooldown (
  channel text not null,
  model text not null,
  fault boolean not null,
  until_at timestamptz not null,
  max integer not null check (max > 0),
  length_ms float8 not null,
  primary key (channel, model)
) with (fillfactor = 50);

create function cooldown_counts(d cooldown) returns boolean
language sql as $$ select d.fault or d.until_at > clock_timestamp() - interval '60 seconds' $$;

-- WEBHOOKS

-- An address of an account that receives the ends of its tasks, and events of its money.
create table webhook (
  webhook_id text primary key check (webhook_id ~ '^wh_[0-9A-Za-z]{24}$'),
  account_id text not null references account,
  -- Empty after deletion.
  url text not null,
  events text[] not null,
  -- `deleted`: invisible to its account. The row is deleted with its last delivery.
  status text not null default 'active' check (status in ('active', 'disabled', 'deleted')),
  -- The secret is computed from the webhook's id, this version, and the key of WEBHOOK_KEYS with this id. It is
  -- not stored.
  key_id text not null,
  version integer not null default 1,
  -- The key of the secret before the last rotation, and until when that secret signs too.
  previous_key_id text,
  previous_until timestamptz,
  -- Since when the tries of the webhook fail. Null: the last try was delivered, or there was none yet.
  failing_since timestamptz,
  created_at timestamptz not null default clock_timestamp()
);
create index webhook_account on webhook (account_id, created_at);

-- One event for one webhook. The row is written by the statement that ends the task, and deleted with the task. What
-- belongs to no task is written by `tell_webhooks`, and deleted after 8 days. The pending rows are the queue of the
-- workers.
create table webhook_delivery (
  delivery_id text primary key default 'whd_' || replace(gen_random_uuid()::text, '-', ''),
  webhook_id text not null references webhook,
  -- Null for what belongs to no task.
  task_id text references task on delete cascade,
  event text not null check (event in (
    'task.succeeded', 'task.failed', 'account.balance_low', 'key.budget_reached', 'webhook.test')),
  -- The `data` of `account.balance_low` and `key.budget_reached`. Null for other events.
  data jsonb,
  status text not null default 'pending' check (status in ('pending', 'delivered', 'failed')),
  created_at timestamptz not null default clock_timestamp(),
  -- The tries of the current round. A redelivery begins a new round.
  tries integer not null default 0,
  -- The last tries of all rounds, oldest first: `[{"at", "http_status", "error"}]`.
  attempts jsonb not null default '[]',
  -- Null: no try follows.
  next_attempt_at timestamptz default clock_timestamp(),
  -- A worker has claimed the delivery for a try. If the worker is lost, another one may claim it after this
  -- time. Each claim has the next number.
  claimed_until timestamptz,
  claim integer not null default 0,
  check ((status = 'pending') = (next_attempt_at is not null))
) with (fillfactor = 70);
create index webhook_delivery_list on webhook_delivery (webhook_id, created_at, delivery_id);
create index webhook_delivery_task on webhook_delivery (task_id) where task_id is not null;
-- For the purge (src/store/tasks/purgeTasks.ts).
create index webhook_delivery_told on webhook_delivery (created_at) where data is not null;
create index webhook_delivery_due on webhook_delivery (webhook_id, next_attempt_at) where status = 'pending';
create index webhook_delivery_claimed on webhook_delivery (webhook_id) where claimed_until is not null;

-- THE INSTALLATION

-- The row `store_id` contains the id of the blob store that belongs to this database, and `safety_secret` the random
-- secret under which vendors are told of accounts (244 bits). Neither ever changes.
create table installation (
  name text primary key,
  value text not null
);
insert into installation values ('safety_secret', gen_random_uuid()::text || gen_random_uuid()::text);

-- FUNCTIONS

-- Raises an error with SQLSTATE DR001 and the reason as its message. A statement calls this function when it
-- has written rows that must not stay: the error rolls all of them back.
create function refuse(reason text, details json default null) returns boolean language plpgsql as $$
begin
  raise exception using errcode = 'DR001', message = reason, detail = coalesce(details::text, '');
end $$;

-- Writes the deliveries of an event that belongs to no task.
create function tell_webhooks(the_account text, the_event text, the_data jsonb) returns void language sql as $$
  insert into webhook_delivery (webhook_id, event, data)
  select webhook_id, the_event, the_data from webhook
  where account_id = the_account and status = 'active' and the_event = any(events)
$$;

-- Tells webhooks once that the balance is low, in the transaction that lowers it or arms the alert. The condition of a
-- trigger is looked at for every change of the row, its function runs when it holds.
create function tell_balance_low() returns trigger language plpgsql as $$
begin
  update balance set alert_armed = false where account_id = new.account_id;
  perform tell_webhooks(new.account_id, 'account.balance_low',
    jsonb_build_object('available', new.available, 'threshold', new.alert_below));
  return null;
end $$;
create trigger balance_low after update on balance
  for each row when (new.alert_armed and new.available < new.alert_below) execute function tell_balance_low();

-- Tells webhooks once in a period that holds have reached 80 percent of a budget, and once that it has refused a submit.
-- After the second nobody is told of the first.
create function tell_budget_reached() returns trigger language plpgsql as $$
declare
  percent integer := case when new.refused then 100 else 80 end;
begin
  update budget_use set told_percent = percent where key_id = new.key_id and starts_at = new.starts_at;
  perform tell_webhooks(account_id, 'key.budget_reached', jsonb_build_object('key_id', key_id,
    'budget', budget_credits || '/' || budget_period, 'used', new.used, 'percent', percent))
  from api_key where key_id = new.key_id;
  return null;
end $$;
create trigger budget_reached after insert or update on budget_use
  for each row when (
    new.told_percent < case when new.refused then 100 when new.used >= new.budget_credits * 0.8 then 80 else 0 end
  ) execute function tell_budget_reached();

-- What goes back of a price when the image has so many pixels. Nothing, when these are not known (null) or no smaller
-- price is.
create function refund_of(price bigint, smaller_prices jsonb, pixels bigint) returns bigint
language sql immutable as $$
  select coalesce((
    select price - credits from jsonb_to_recordset(smaller_prices) as smaller ("belowPixels" bigint, credits bigint)
    where pixels < "belowPixels" order by "belowPixels" limit 1), 0)
$$;

-- Refuses a new task that is beyond the limit of live tasks. The statement that holds the price asks this for the row of
-- the balance, which every statement that inserts a task updates. So the re-check (docs/architecture.md) counts every task
-- that was accepted before this one, and this one.
create function live_task_fits(b balance) returns boolean language plpgsql as $$
begin
  if b.live_tasks_limit < (
    select count(*) from (
      select from task where account_id = b.account_id and completed_at is null limit b.live_tasks_limit + 1
    ) live
  ) then
    return refuse('live_tasks', account_limits(b));
  end if;
  return true;
end $$;

-- The period of a budget that contains an instant. Periods are in UTC, and a week begins on Monday.
create function budget_window(
  period text,
  instant timestamptz,
  out starts_at timestamptz,
  out ends_at timestamptz
)
language sql immutable as $$
  select date_trunc(period, instant at time zone 'UTC') at time zone 'UTC',
    (date_trunc(period, instant at time zone 'UTC') + ('1 ' || period)::interval) at time zone 'UTC'
$$;

-- What keeps calls of a model from a channel now: `paused`, `cooldown` (until `until_at`), or `full`: it has no place, by
-- its own limit or by that after a cooldown. Null: nothing. `fault` tells a cooldown for a fault from one for a refusal.
create function channel_bar(
  the_channel text, the_model text, concurrency_max integer,
  out bar text, out until_at timestamptz, out fault boolean
) language plpgsql as $$
declare
  known cooldown;
  under_way integer;
  last_opened timestamptz;
  just_now timestamptz := clock_timestamp() - interval '200 milliseconds';
begin
  if not exists (select from channel c where c.name = the_channel and c.paused_at is null) then
    bar := 'paused';
    return;
  end if;
  if concurrency_max <= (
    select count(*) from attempt a
    where a.channel = the_channel and a.closed_at is null and a.lease_until > clock_timestamp()
  ) then
    bar := 'full';
    return;
  end if;
  for known in
    select * from cooldown d where d.channel = the_channel and d.model in (the_model, '*')
      and cooldown_counts(d)
    order by d.until_at desc
  loop
    until_at := known.until_at;
    fault := known.fault;
    if known.until_at > clock_timestamp() then
      bar := 'cooldown';
      return;
    end if;
    continue when known.max >= concurrency_max;
    select count(*), max(a.opened_at) into under_way, last_opened from attempt a
    where a.channel = the_channel and (known.model = '*' or a.model = the_model)
      and a.closed_at is null and a.lease_until > clock_timestamp();
    -- A call that has ended counts too. The order and the limit keep PostgreSQL to the index of these.
    if under_way >= known.max or greatest(last_opened, (
      select max(lately.opened_at) from (
        select opened_at, channel, model from attempt where closed_at > just_now order by closed_at desc limit 100
      ) lately
      where lately.channel = the_channel and (known.model = '*' or lately.model = the_model)
    )) > just_now then
      bar := 'full';
      return;
    end if;
  end loop;
end $$;

-- Begins the cooldown of a channel after a call that began at `the_opened`, or lengthens it. `begun` is a `Cooldown` of
-- src/domain/gate/cooldown.ts. A call that began after the end of the known cooldown halves `max` and makes the next one
-- twice as long. A call that began before its end can only lengthen it, to the time that the upstream named. A fault
-- replaces a refusal, and a refusal leaves a fault as it is. Of two calls that end at once and both find no cooldown, the
-- later end counts.
create function begin_cooldown(the_channel text, the_model text, the_opened timestamptz, begun jsonb) returns void
language plpgsql as $$
declare
  known cooldown;
  is_fault boolean := begun -> 'fault';
  of_model text := case when (begun -> 'everyModel')::boolean then '*' else the_model end;
  named_ms float8 := begun -> 'namedMs';
  next_ms float8 := coalesce(named_ms, (begun -> 'firstMs')::float8);
  next_max integer := begun -> 'firstMax';
begin
  select * into known from cooldown d
  where d.channel = the_channel and d.model = of_model and cooldown_counts(d) for update;
  if known.fault and not is_fault then
    return;
  end if;
  if known.fault = is_fault then
    if the_opened < known.until_at then
      if named_ms is null then
        return;
      end if;
      next_max := known.max;
    else
      next_max := greatest(1, known.max / 2);
      next_ms := coalesce(named_ms, least(known.length_ms * 2, (begun -> 'mostMs')::float8));
    end if;
  end if;
  insert into cooldown as newest (channel, model, fault, until_at, max, length_ms)
  values (the_channel, of_model, is_fault, clock_timestamp() + next_ms * interval '1 millisecond', next_max, next_ms)
  on conflict (channel, model) do update set fault = excluded.fault, max = excluded.max,
    until_at = greatest(newest.until_at, excluded.until_at), length_ms = excluded.length_ms;
end $$;

-- Raises the limits of a channel after an image of a model, and ends a fault.
create function heal_cooldown(the_channel text, the_model text) returns void language plpgsql as $$
begin
  update cooldown set max = max + 1, fault = false, until_at = case when fault then '-infinity' else until_at end
  where channel = the_channel and model in (the_model, '*') and cooldown_counts(cooldown);
end $$;

-- Opens attempt `the_n` of a task on a channel: writes the attempt and the upload of its answer, and sets the task
-- processing. Only when all of this holds:
-- - the task is live and before its deadline, has no open attempt and has had `the_n` - 1 attempts (else `over` or
--   `changed`), and its request has at most `request_bytes_max` bytes (null: any number);
-- - the calling process has sent a beat in the last 8 seconds (else `not_present`). A process counts as lost after 15
--   seconds of silence, so it has time to begin the call;
-- - nothing keeps the call from the channel (else what `channel_bar` says).
--
-- Looks without locks first, so that many tasks that may not call hold no lock and write nothing. Then it locks the task
-- and the channel and looks again (the re-check, docs/architecture.md). Asked again with the same answer, it says `opened`
-- again, so that a lost reply costs nothing.
create function open_attempt(
  the_task text, the_n integer, the_answer text, the_process text, the_via text,
  the_channel text, concurrency_max integer, timeout_ms float8, lease_grace_ms float8, beat_fresh_ms float8,
  request_bytes_max integer
) returns table (
  outcome text,
  account_id text,
  model text,
  -- The number of the attempt whose key the call sends upstream: after an unknown outcome, that attempt's.
  key_n integer,
  hard_end_ms float8,
  request text
) language plpgsql as $$
#variable_conflict use_column
declare
  t task;
  lease_until timestamptz;
begin
  for look in 1..2 loop
    if look = 2 then
      perform from task where task.task_id = the_task for update;
      perform from channel where channel.name = the_channel for update;
    end if;
    select * into t from task where task.task_id = the_task;
    outcome := case
      when t.task_id is null or t.completed_at is not null then 'over'
      when t.open_attempt = the_n and exists (
        select from attempt a where a.task_id = the_task and a.n = the_n and a.answer_id = the_answer
      ) then 'opened'
      when t.open_attempt is not null or t.attempts <> the_n - 1 or t.deadline_at <= clock_timestamp()
        or octet_length(t.request) > request_bytes_max then 'changed'
      when not exists (
        select from worker_process p
        where p.process_id = the_process and p.seen_at > clock_timestamp() - beat_fresh_ms * interval '1 millisecond'
      ) then 'not_present'
      else (select bar from channel_bar(the_channel, t.model, concurrency_max))
    end;
    exit when outcome is not null;
  end loop;

  hard_end_ms := extract(epoch from t.hard_end_at - clock_timestamp()) * 1000;
  if outcome is null then
    outcome := 'opened';
    lease_until := clock_timestamp()
      + (least(timeout_ms, hard_end_ms) + lease_grace_ms) * interval '1 millisecond';
    update task set status = 'processing', processing_at = coalesce(task.processing_at, clock_timestamp()),
      started_at = coalesce(task.started_at, case the_via when 'workflow' then clock_timestamp() end),
      attempts = the_n, open_attempt = the_n, checks = 0, next_check_at = least(task.hard_end_at, lease_until)
    where task.task_id = the_task;
    insert into upload (upload_id, kind, task_id, sweep_after) values (the_answer, 'answer', the_task, 'infinity');
    insert into attempt (task_id, n, channel, model, answer_id, process_id, via, lease_until)
    values (the_task, the_n, the_channel, t.model, the_answer, the_process, the_via, lease_until);
  end if;
  if outcome = 'opened' then
    account_id := t.account_id;
    model := t.model;
    request := t.request;
    key_n := coalesce(
      (select min(a.n) from attempt a where a.task_id = the_task and a.class = 'unknown'), the_n);
  end if;
  return next;
end $$;
