/** Sounds without any voice, made in code: 16 kHz mono. The same arguments always give the same samples. */
const RATE = 16_000;

/** By name: a function of the length in seconds, to samples from -1 to 1. */
export const MADE_SOUNDS = {
  silence: (seconds: number) => make(seconds, () => 0),
  'white noise': (seconds: number) => noisy(seconds, 0.1, (random) => random()),
  'pink noise': (seconds: number) => noisy(seconds, 0.1, pink),
  'noise like babble': babble,
  'hum of 50 Hz': (seconds: number) =>
    make(seconds, (t) => 0.2 * sine(50, t) + 0.06 * sine(100, t) + 0.05 * sine(150, t) + 0.02 * sine(250, t)),
  breathing,
  'keyboard clicks': clicks,
  music,
};

/** As 16-bit little-endian samples. */
export function pcmOf(samples: Float32Array): Buffer {
  const pcm = Buffer.alloc(samples.length * 2);
  for (const [i, sample] of samples.entries())
    pcm.writeInt16LE(Math.round(Math.max(-1, Math.min(1, sample)) * 32_767), i * 2);
  return pcm;
}

/** Marsaglia's xorshift: a function that gives numbers from -1 to 1. */
export function randomFrom(seed: number): () => number {
  let state = Math.imul(seed, 0x9e3779b1) | 1;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return state / 2 ** 31;
  };
}

function make(seconds: number, sampleAt: (second: number) => number): Float32Array {
  return Float32Array.from({ length: Math.round(seconds * RATE) }, (_, i) => sampleAt(i / RATE));
}

type Random = () => number;

function noisy(seconds: number, level: number, source: (random: Random) => number): Float32Array {
  const random = randomFrom(7);
  return make(seconds, () => level * source(random));
}

const sine = (hertz: number, t: number): number => Math.sin(2 * Math.PI * hertz * t);

/** Paul Kellet's filter, three poles. */
const poles: [number, number, number] = [0, 0, 0];
function pink(random: Random): number {
  const white = random();
  poles[0] = 0.99765 * poles[0] + white * 0.099046;
  poles[1] = 0.963 * poles[1] + white * 0.2965164;
  poles[2] = 0.57 * poles[2] + white * 1.0526913;
  return (poles[0] + poles[1] + poles[2] + white * 0.1848) / 4;
}

/** Noise with the spectrum of speech, in eight bursts of syllables that overlap: a room full of people, but no voice. */
function babble(seconds: number): Float32Array {
  const random = randomFrom(11);
  const bands = Array.from({ length: 8 }, (_, i) => ({
    filter: resonator(250 * 1.45 ** i, 150 + 60 * i),
    rate: 3 + 0.37 * i,
    phase: i,
  }));
  return make(seconds, (t) => {
    let sum = 0;
    for (const { filter, rate, phase } of bands)
      sum += filter(random()) * Math.max(0, Math.sin(2 * Math.PI * rate * t + phase)) ** 2;
    return 0.08 * sum;
  });
}

/** In for 1.5 s, out for 2 s, a pause. */
function breathing(seconds: number): Float32Array {
  const random = randomFrom(13);
  const breaths = [
    { filter: resonator(1100, 900), from: 0, to: 1.5, level: 0.05 },
    { filter: resonator(600, 700), from: 1.8, to: 3.8, level: 0.08 },
  ];
  return make(seconds, (t) => {
    const at = t % 4.5;
    const noise = random();
    return breaths.reduce((sum, { filter, from, to, level }) => {
      const sound = filter(noise);
      return at < from || at > to ? sum : sum + level * Math.sin((Math.PI * (at - from)) / (to - from)) ** 2 * sound;
    }, 0.0005 * noise);
  });
}

/** Six keys a second, each with a press and a softer release. */
function clicks(seconds: number): Float32Array {
  const random = randomFrom(17);
  const samples = new Float32Array(Math.round(seconds * RATE));
  const strike = (second: number, level: number): void => {
    const body = resonator(1800 + 900 * random(), 800);
    const from = Math.round(second * RATE);
    for (let i = 0; i < 0.03 * RATE && from + i < samples.length; i++)
      samples[from + i] = (samples[from + i] ?? 0) + level * body(random()) * Math.exp(-i / (0.004 * RATE));
  };
  for (let t = 0.1; t < seconds; t += 0.17 + 0.08 * random()) {
    strike(t, 0.5);
    strike(t + 0.07, 0.2);
  }
  return samples;
}

const CHORDS: [number, number, number][] = [
  [220, 261.63, 329.63],
  [174.61, 220, 261.63],
  [130.81, 164.81, 196],
  [196, 246.94, 293.66],
];
const MELODY = [440, 523.25, 587.33, 659.25, 587.33, 523.25, 493.88, 392];

/** Chords, a bass, a melody with vibrato, and drums, at 120 beats a minute. */
function music(seconds: number): Float32Array {
  const random = randomFrom(19);
  const snare = resonator(1900, 1500);
  return make(seconds, (t) => {
    const beat = t % 0.5;
    const chord = CHORDS[Math.floor(t / 2) % CHORDS.length] ?? [0, 0, 0];
    const melody = MELODY[Math.floor(t / 0.5) % MELODY.length] ?? 0;
    const swell = Math.min(1, (t % 2) / 0.05) * Math.exp(-(t % 2) / 1.5);
    const pluck = Math.min(1, beat / 0.01) * Math.exp(-beat / 0.25);
    const tone = (hertz: number): number => sine(hertz, t) + 0.5 * sine(2 * hertz, t) + 0.25 * sine(3 * hertz, t);
    const kick = sine(50 + 60 * Math.exp(-beat / 0.03), beat) * Math.exp(-beat / 0.08);
    const hit = snare(random()) * (Math.floor(t / 0.5) % 2 === 1 ? Math.exp(-beat / 0.06) : 0);
    const vibrato = melody * (1 + 0.003 * sine(5.5, t));
    return (
      0.06 * swell * chord.reduce((sum, hertz) => sum + tone(hertz), 0) +
      0.12 * swell * sine(chord[0] / 2, t) +
      0.1 * pluck * tone(vibrato) +
      0.25 * kick +
      0.08 * hit
    );
  });
}

/** A band-pass filter of second order, with about the level of its input. */
function resonator(hertz: number, width: number): (sample: number) => number {
  const radius = Math.exp((-Math.PI * width) / RATE);
  const turn = 2 * radius * Math.cos((2 * Math.PI * hertz) / RATE);
  const gain = 1 - radius * radius;
  let [one, two] = [0, 0];
  return (sample) => {
    const next = gain * sample + turn * one - radius * radius * two;
    [one, two] = [next, one];
    return next;
  };
}
