export interface ChartColours {
  bar: string;
  bad: string;
  text: string;
  grid: string;
  font: string;
}

/** A canvas knows no custom properties: an element of the page resolves them. */
export function coloursOf(element: HTMLElement): ChartColours {
  const probe = document.createElement('span');
  element.append(probe);
  const colour = (token: string) => {
    probe.style.color = `var(${token})`;
    return getComputedStyle(probe).color;
  };
  const { fontFamily } = getComputedStyle(element);
  const colours = {
    bar: colour('--accent-surface'),
    bad: colour('--bad'),
    text: colour('--text-muted'),
    grid: colour('--border'),
    font: `12px ${fontFamily}`,
  };
  probe.remove();
  return colours;
}

/** Runs `change` when the page becomes dark or light. @returns a function that ends it */
export function watchColours(change: () => void): () => void {
  const system = matchMedia('(prefers-color-scheme: dark)');
  const chosen = new MutationObserver(change);
  system.addEventListener('change', change);
  chosen.observe(document.documentElement, { attributeFilter: ['data-theme'] });
  return () => {
    system.removeEventListener('change', change);
    chosen.disconnect();
  };
}
