import { channelFeature, channelsToTranscribe } from './channels-to-transcribe.js';

describe('channelsToTranscribe', () => {
  it.each([
    [{ channels: 2, separateChannels: true }, [0, 1], { channels: 2 }],
    [{ channels: 1, separateChannels: true }, [null], { channels: 1 }],
    [{ channels: 3, separateChannels: true }, [null], { channels: 1 }],
    [{ channels: null, separateChannels: true }, [null], { channels: 1 }],
    [{ channels: 2, separateChannels: false }, [null], {}],
    [{ channels: 2 }, [null], {}],
  ])('of %j are %j, with the feature %j', (recording, channels, feature) => {
    expect(channelsToTranscribe(recording)).toEqual(channels);
    expect(channelFeature(recording)).toEqual(feature);
  });
});
