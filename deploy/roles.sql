-- The roles and databases of docker-compose.yml. psql runs this file once, as superuser, on an empty server.
-- The application reads and changes rows, and owns no table: it cannot switch off the trigger that keeps the
-- ledger unchanged. Only `darkroom migrate` connects as the owner of the schema. Temporal reaches its own
-- databases only.
\getenv owner_password MIGRATE_PASSWORD
\getenv app_password APP_PASSWORD
\getenv temporal_password TEMPORAL_PASSWORD

create role darkroom_owner login password :'owner_password';
create role darkroom_app login password :'app_password';
create role temporal login password :'temporal_password';

create database darkroom owner darkroom_owner;
create database temporal owner temporal;
create database temporal_visibility owner temporal;
revoke all on database darkroom, temporal, temporal_visibility from public;
grant connect on database darkroom to darkroom_app;

\connect darkroom
grant usage on schema public to darkroom_app;
alter default privileges for role darkroom_owner in schema public
  grant select, insert, update, delete on tables to darkroom_app;
alter default privileges for role darkroom_owner in schema public
  grant usage, select on sequences to darkroom_app;
