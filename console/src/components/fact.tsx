import type { ComponentChildren } from 'preact';

import { t, type Text } from '../language/texts';

/** One of a list of facts (`<dl>`). */
export function Fact({ name, children }: { name: Text; children: ComponentChildren }) {
  return (
    <>
      <dt>{t(name)}</dt>
      <dd dir="auto">{children}</dd>
    </>
  );
}
