/** Sounds without any voice, made in code: 16 kHz mono. By name: a function of the length in seconds. */
export declare const MADE_SOUNDS: Readonly<
  Record<
    | 'silence'
    | 'white noise'
    | 'pink noise'
    | 'noise like babble'
    | 'hum of 50 Hz'
    | 'breathing'
    | 'keyboard clicks'
    | 'music',
    (seconds: number) => Float32Array
  >
>;

/** As 16-bit little-endian samples. */
export declare function pcmOf(samples: Float32Array): Buffer;

/** A function that gives numbers from -1 to 1. */
export declare function randomFrom(seed: number): () => number;
