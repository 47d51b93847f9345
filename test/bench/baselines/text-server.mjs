// A transcription server of OpenAI's protocol that hears nothing: every recording has the same text, at once.
import { createServer } from 'node:http';

const words = ['Go', 'forward', 'ten', 'meters'].map((word, i) => ({ word, start: i * 0.5, end: i * 0.5 + 0.4 }));
const text = 'Go forward ten meters.';
const segments = [{ id: 0, start: 0, end: 2, text, avg_logprob: -0.2, no_speech_prob: 0.01 }];
const answer = JSON.stringify({ task: 'transcribe', language: 'english', duration: 2, text, segments, words });

createServer((request, response) => {
  response.setHeader('Content-Type', 'application/json');
  if (request.method === 'GET') return response.end('{"object":"list","data":[]}');
  request.resume();
  return request.on('end', () => response.end(answer));
}).listen(Number(process.env.PORT), '127.0.0.1');
process.on('SIGTERM', () => process.exit(0));
