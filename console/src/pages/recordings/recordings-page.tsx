import { useEffect } from 'preact/hooks';
import { useSignal } from '@preact/signals';
import type { Recording } from 'vnotes';
import { Link } from 'wouter-preact';

import { client } from '../../session/session';

export function RecordingsPage() {
  const recordings = useSignal<Recording[]>([]);
  useEffect(() => {
    void client.value?.recordings.list().then((page) => (recordings.value = page.recordings));
  }, []);
  return (
    <>
      <h1>Recordings</h1>
      <ul>
        {recordings.value.map(({ id, original_filename, status }) => (
          <li key={id}>
            <Link href={`/recordings/${id}`}>{original_filename ?? id}</Link> {status}
          </li>
        ))}
      </ul>
    </>
  );
}
