// Runs the steps in a page of another origin than the service.
import { VoiceNotes } from 'vnotes';
import { runSteps } from './steps.mjs';

globalThis.run = async (setup) => {
  const response = await fetch('/audio.wav');
  return await runSteps({ ...setup, path: null, audio: new Uint8Array(await response.arrayBuffer()) });
};

/** Uploads to the server of this page. @returns its progress, and what became of it */
globalThis.upload = async ({ bytes, abortAfter, ...options }) => {
  const client = new VoiceNotes({ baseUrl: location.origin, key: 'vnk_x', secret: 'vns_x', ...options });
  const progress = [];
  const controller = new AbortController();
  if (abortAfter) setTimeout(() => controller.abort(new Error('the person has left')), abortAfter);
  const watched = { signal: controller.signal, onProgress: (step) => progress.push(step) };
  const outcome = await client.recordings.upload(new Blob([new Uint8Array(bytes)]), watched).then(
    ({ id }) => id,
    (error) => `${error.name}: ${error.message}`,
  );
  return { progress, outcome };
};
