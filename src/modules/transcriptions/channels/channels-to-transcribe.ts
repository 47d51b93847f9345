/** What an upload says about its channels. */
interface Channels {
  /** As its header says. */
  channels: number | null;
  /** Whether the upload asked for each of two on its own. */
  separateChannels?: boolean;
}

/** The channels that are transcribed one after the other; null is all of them, mixed. */
export function channelsToTranscribe({ channels, separateChannels }: Channels): (number | null)[] {
  return separateChannels && channels === 2 ? [0, 1] : [null];
}

/** For the features of a recording, which have this key only if the upload asked for it. */
export function channelFeature(recording: Channels): { channels?: number } {
  return recording.separateChannels ? { channels: channelsToTranscribe(recording).length } : {};
}
