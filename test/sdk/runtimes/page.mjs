// Runs the steps in a page of another origin than the service.
import { runSteps } from './steps.mjs';

globalThis.run = async (setup) => {
  const response = await fetch('/audio.wav');
  return await runSteps({ ...setup, path: null, audio: new Uint8Array(await response.arrayBuffer()) });
};
