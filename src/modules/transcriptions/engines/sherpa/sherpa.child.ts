import { serveChunks } from '../children/child-side.js';
import { SherpaRecogniser } from './sherpa-recogniser.js';
import type { SherpaSettings } from './sherpa-settings.js';

await serveChunks(() => SherpaRecogniser.create(JSON.parse(process.argv[2] ?? '{}') as SherpaSettings));
