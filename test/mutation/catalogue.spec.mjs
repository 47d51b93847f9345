import { existsSync } from 'node:fs';
import { join } from 'node:path';

import { CONTROLS } from '../chaos/controls/controls.mjs';
import { faultySources } from '../chaos/controls/faulty-build.mjs';
import { ROOT } from '../../scripts/lib/paths.mjs';
import { FAULTS, PART_NAMES, projectOf, withFault } from './catalogue.mjs';

describe('the faults of npm run mutate', () => {
  test('are at least 60, some in every part', () => {
    expect(FAULTS.length).toBeGreaterThanOrEqual(60);
    expect([...new Set(FAULTS.map(({ part }) => part))]).toEqual(PART_NAMES);
  });

  test.each(FAULTS)('$part: $what', (fault) => {
    expect(withFault(ROOT, fault)).not.toContain('undefined undefined');
    expect(fault.from).not.toBe(fault.to);
    expect(fault.tests.filter((test) => !existsSync(join(ROOT, test)))).toEqual([]);
    expect(fault.tests.every((test) => test.endsWith(projectOf(fault.tests) === 'e2e' ? '.e2e.ts' : '.spec.ts'))).toBe(
      true,
    );
  });
});

describe('the controls of npm run chaos', () => {
  test.each(CONTROLS)('$fault: $without', (control) => {
    for (const [file, text] of faultySources(ROOT, control)) {
      expect(file).toMatch(/^src\/.+\.ts$/);
      expect(text).not.toContain('undefined undefined');
    }
  });
});
