-- While a call is under way its worker says so every few seconds: it is not to be made a second time
-- because Temporal has lost sight of that worker. Null: opened by a worker that says nothing.
alter table attempt add column seen_at timestamptz;

-- The gate's short way (src/store/beginFirstCall.ts): a queued task's first call on a channel that has
-- nothing against it. The rows are locked in the gate's order, and every condition is read after the
-- locks were had: each statement of a function sees what was committed before it began.
create function begin_first_call(
  the_task text,
  the_channel text,
  concurrency_max integer,
  the_answer text,
  the_upstream_key text,
  -- Milliseconds: longest call on this channel, and how long its worker may be silent afterwards.
  timeout_ms float8,
  overdue_ms float8
)
-- Milliseconds until the task's hard end; null: not the short way, and nothing was written.
returns float8 language plpgsql as $$
declare
  queued task;
  hard_end_ms float8;
  lease_until timestamptz;
begin
  select * into queued from task where task_id = the_task and status = 'queued' for update;
  if not found then return null; end if;
  perform from channel where name = the_channel and paused_at is null for update;
  if not found
    or clock_timestamp() >= queued.deadline_at
    or exists (select from cooldown where channel = the_channel and model = queued.model)
    or exists (
      select from place_line
      where channel = the_channel and task_id <> the_task and present_until > clock_timestamp()
    )
    or concurrency_max <= (
      select count(*) from attempt a
      where a.channel = the_channel and a.closed_at is null and a.lease_until > clock_timestamp()
    )
  then return null; end if;
  hard_end_ms := extract(epoch from queued.hard_end_at - clock_timestamp()) * 1000;
  lease_until := clock_timestamp()
    + (least(timeout_ms, hard_end_ms) + overdue_ms) * interval '1 millisecond';
  insert into attempt
    (task_id, n, channel, model, answer_id, upstream_key, lease_until, seen_at)
    values (the_task, 1, the_channel, queued.model, the_answer, the_upstream_key, lease_until,
      clock_timestamp());
  insert into upload (upload_id, kind, task_id, sweep_after)
    values (the_answer, 'answer', the_task, 'infinity');
  delete from place_line where task_id = the_task;
  update task set status = 'processing', processing_at = clock_timestamp(), checks = 0,
    next_check_at = least(hard_end_at, lease_until)
  where task_id = the_task;
  return hard_end_ms;
end $$;
