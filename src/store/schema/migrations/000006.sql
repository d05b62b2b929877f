-- A call whose worker has fallen silent is doubted first, and given up only when nothing is heard of it
-- after that: where PostgreSQL itself was away, all workers were silent.
alter table attempt add column doubted_at timestamptz;
