import { availableParallelism } from 'node:os';
import { cpuSeconds } from '../lib/cpu.mjs';
import { alternate, median, ratio } from '../lib/load.mjs';
import { bareEngine, speech, transcribe, warmUp } from '../lib/transcriptions.mjs';

/** 6.4 seconds in the mean. */
const FILES = [
  'jfk.wav',
  'go-forward-ten-meters.ogg',
  'jfk.wav',
  'ss-0880.wav',
  'leopard-de.wav',
  'jfk.wav',
  'ss-0880.mediarecorder.webm',
];
const FILE_COUNT = 60;
const PAIRS = 3;

/** 60 recordings from upload to `transcribed`, on all cores, beside a script that runs the same ffmpeg and engine. */
export async function measureTranscription(stage, { pairs }) {
  const account = await stage.account();
  const service = await stage.service('api,worker');
  const files = Array.from({ length: FILE_COUNT }, (_, i) => speech(FILES[i % FILES.length]));
  await warmUp(stage, service, account);
  const ours = async () => {
    const before = cpuSeconds(service.pid);
    const seconds = await transcribe(stage, service, account, files);
    return { seconds, cpuSeconds: cpuSeconds(service.pid) - before };
  };
  const [a, b] = await alternate(Math.min(pairs, PAIRS), ours, () => bareEngine(files));
  const secondsOf = (runs) => runs.map(({ seconds }) => seconds);
  const cpu = (runs) => runs.map((run) => run.cpuSeconds);
  const engines = b.map(({ engineSeconds }) => engineSeconds / availableParallelism());
  const perSecond = (runs) => (FILE_COUNT / median(secondsOf(runs))).toFixed(2);
  return [
    {
      what: '60 recordings to transcribed / plain script',
      value: ratio(secondsOf(b), secondsOf(a)),
      target: 0.92,
      figures: `${perSecond(a)} against ${perSecond(b)} recordings/s`,
    },
    {
      what: '… in CPU seconds',
      value: ratio(cpu(b), cpu(a)),
      target: 0.92,
      figures: `${median(cpu(a)).toFixed(1)} against ${median(cpu(b)).toFixed(1)} s`,
    },
    { what: '… / the engines alone', value: ratio(engines, secondsOf(a)), figures: 'without ffmpeg and all else' },
  ];
}
