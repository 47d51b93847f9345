'use strict';
const { statSync } = require('node:fs');
const { default: Sequencer } = require('@jest/test-sequencer');

/** Folders by how long one of their tests takes, the longest first. What is in none of them comes last. */
const FOLDERS = ['test/fleet/', 'test/console/', 'test/http/input/', 'test/sdk/', 'test/', 'examples/'];

/**
 * Starts the longest files first, so that no worker is left with one at the end. Jest would know them from its cache,
 * which a fresh clone does not have: there it goes by size, and a short file of several processes would come late.
 */
class LongestFirstSequencer extends Sequencer {
  sort(tests) {
    const order = tests.map((test) => ({ test, rank: rankOf(test), size: statSync(test.path).size }));
    return order.toSorted((a, b) => a.rank - b.rank || b.size - a.size).map(({ test }) => test);
  }
}

function rankOf({ path, context }) {
  const name = path.slice(context.config.rootDir.length + 1);
  const rank = FOLDERS.findIndex((folder) => name.startsWith(folder));
  return rank < 0 ? FOLDERS.length : rank;
}

module.exports = LongestFirstSequencer;
