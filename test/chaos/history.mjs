/**
 * A log of what happened to recordings, written by Postgres itself in the transaction of each change: the service knows
 * nothing of it, and it tells what the final rows no longer show.
 */
export async function recordHistory(database) {
  await database.query(`
    CREATE TABLE history (
      change text NOT NULL, recording_id uuid NOT NULL, account_id uuid NOT NULL, status text NOT NULL,
      duration_ms integer NOT NULL, at timestamptz NOT NULL DEFAULT clock_timestamp());
    CREATE FUNCTION record_history() RETURNS trigger LANGUAGE plpgsql AS $$
    DECLARE recording recordings := CASE WHEN TG_OP = 'DELETE' THEN OLD ELSE NEW END;
    BEGIN
      IF TG_OP <> 'UPDATE' OR NEW.status <> OLD.status THEN
        INSERT INTO history VALUES (TG_OP, recording.id, recording.account_id, recording.status, recording.duration_ms);
      END IF;
      RETURN NULL;
    END $$;
    CREATE TRIGGER record_history AFTER INSERT OR UPDATE OR DELETE ON recordings
      FOR EACH ROW EXECUTE FUNCTION record_history()`);
}
