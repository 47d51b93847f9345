import { Solo } from './solo';

const STRETCHES = [
  { start: 1, end: 2 },
  { start: 5, end: 6 },
];

/** A player whose time the test decides. */
class Player {
  time = 0;
  isPlaying = false;
  readonly seeks: number[] = [];
  onSeek: (time: number) => void = () => undefined;
  private listener: (time: number) => void = () => undefined;

  onTime(listener: (time: number) => void): () => void {
    this.listener = listener;
    return () => (this.listener = () => undefined);
  }

  play(): Promise<void> {
    this.isPlaying = true;
    return Promise.resolve();
  }

  pause(): void {
    this.isPlaying = false;
  }

  seek(time: number): void {
    this.seeks.push(time);
    this.onSeek(time);
    this.at(time);
  }

  at(time: number): void {
    this.time = time;
    this.listener(time);
  }
}

describe('playing one person alone', () => {
  let player: Player;
  let solo: Solo;

  beforeEach(() => {
    player = new Player();
    solo = new Solo(player);
  });

  it('skips what is between the stretches, and ends after the last', async () => {
    await solo.play('A', STRETCHES);
    expect([solo.who.value, player.isPlaying, player.seeks]).toEqual(['A', true, [1]]);
    player.at(1.5);
    player.at(2.01);
    expect(player.seeks).toEqual([1, 5]);
    player.at(5.9);
    player.at(6.2);
    expect([solo.who.value, player.isPlaying, player.seeks]).toEqual([null, false, [1, 5]]);
  });

  it('begins where the listener is, at the next stretch, or at the first after the last', async () => {
    for (const [time, seeks] of [
      [1.5, []],
      [3, [5]],
      [7, [1]],
    ] as const) {
      player = new Player();
      player.time = time;
      await new Solo(player).play('A', STRETCHES);
      expect(player.seeks).toEqual(seeks);
    }
  });

  it('follows the listener to another stretch, and ends where somebody else speaks', async () => {
    await solo.play('A', STRETCHES);
    player.seek(5.5);
    expect(solo.who.value).toBe('A');
    player.seek(3);
    expect([solo.who.value, player.isPlaying]).toEqual([null, true]);
    player.at(6.1);
    expect(player.seeks).toEqual([1, 5.5, 3]);
  });

  it('goes on at the next stretch, however late it is told of the end of one', async () => {
    await solo.play('A', STRETCHES);
    player.at(4);
    player.at(9);
    expect([player.seeks, player.isPlaying]).toEqual([[1, 5], false]);
  });

  it('is stopped, and nothing is skipped after it', async () => {
    await solo.play('A', STRETCHES);
    solo.stop();
    expect([solo.who.value, player.isPlaying]).toEqual([null, false]);
    player.at(2.1);
    expect(player.seeks).toEqual([1]);
  });

  it('plays nothing of somebody who is not heard', async () => {
    await solo.play('A', []);
    expect([solo.who.value, player.isPlaying]).toEqual([null, false]);
  });
});
