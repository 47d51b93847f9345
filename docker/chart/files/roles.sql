-- Creates the roles that compose.yaml connects as, or sets their passwords anew. Run by psql as a superuser, in the
-- database of the service, at every start. What api, transcriber and deliverer may do with which table is granted by the
-- migrations (src/migrations/grants.ts).
\getenv owner_password POSTGRES_OWNER_PASSWORD
\getenv api_password POSTGRES_API_PASSWORD
\getenv transcriber_password POSTGRES_TRANSCRIBER_PASSWORD
\getenv deliverer_password POSTGRES_DELIVERER_PASSWORD

DO $$
DECLARE
  role text;
BEGIN
  FOREACH role IN ARRAY ARRAY['owner', 'api', 'transcriber', 'deliverer'] LOOP
    role := 'voice_notes_' || role;
    IF to_regrole(role) IS NULL THEN
      EXECUTE format('CREATE ROLE %I', role);
    END IF;
    EXECUTE format('ALTER ROLE %I LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS', role);
    EXECUTE format('GRANT CONNECT ON DATABASE %I TO %I', current_database(), role);
  END LOOP;
  -- The owner may create tables in `public`. Nobody else may connect, or create anything.
  EXECUTE format('ALTER DATABASE %I OWNER TO voice_notes_owner', current_database());
  EXECUTE format('REVOKE ALL ON DATABASE %I FROM PUBLIC', current_database());
END $$;

ALTER ROLE voice_notes_owner PASSWORD :'owner_password';
ALTER ROLE voice_notes_api PASSWORD :'api_password';
ALTER ROLE voice_notes_transcriber PASSWORD :'transcriber_password';
ALTER ROLE voice_notes_deliverer PASSWORD :'deliverer_password';

-- What a superuser has migrated before becomes the owner's.
DO $$
DECLARE
  statement text;
BEGIN
  FOR statement IN
    SELECT format('ALTER TABLE %s OWNER TO voice_notes_owner', oid::regclass) FROM pg_class
      WHERE relnamespace = 'public'::regnamespace AND relkind = 'r'
    UNION ALL
    SELECT format('ALTER FUNCTION %s OWNER TO voice_notes_owner', oid::regprocedure) FROM pg_proc
      WHERE pronamespace = 'public'::regnamespace
  LOOP
    EXECUTE statement;
  END LOOP;
END $$;
