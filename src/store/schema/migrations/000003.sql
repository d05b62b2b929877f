-- Who stands in line for a place on a channel whose places are all taken, so that the next free one goes
-- to whose turn it is and not to whoever asks at the right moment (src/store/placeLine.ts). After a crash
-- the line forms anew, hence unlogged.
create unlogged table place_line (
  channel text not null,
  task_id text not null,
  account_id text not null,
  -- Somebody holds a connection open.
  sync boolean not null,
  since timestamptz not null default clock_timestamp(),
  -- Gone from here on, unless the task has asked again.
  present_until timestamptz not null,
  primary key (channel, task_id)
) with (fillfactor = 50);
