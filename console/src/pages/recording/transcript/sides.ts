import { t } from '../../../language/texts';
import type { SpeakerNaming } from '../speakers/speaker-naming';
import type { Block } from '../text/blocks';

/** Who says it, or on which channel of a call, and the class of their colour. */
export function sideOf(
  { channel, speaker }: Pick<Block, 'channel' | 'speaker'>,
  naming: Pick<SpeakerNaming, 'personOf'>,
): { title: string; class: string } | null {
  if (speaker !== null) {
    const { title, colour } = naming.personOf(speaker);
    return { title, class: `is-speaker-${colour}` };
  }
  return channel === null
    ? null
    : { title: t('Channel {number}', { number: channel + 1 }), class: `is-speaker-${channel}` };
}
