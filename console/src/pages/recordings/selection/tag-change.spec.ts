import { changedTags } from './tag-change';

describe('the tags of many recordings', () => {
  it('get what is added, lose what is removed, and keep the others', () => {
    const before = { ticket: 'T-1', kind: 'call', side: 'left' };
    expect(changedTags(before, { add: { ticket: 'T-2', team: 'north' }, remove: ['kind'] })).toEqual({
      ticket: 'T-2',
      side: 'left',
      team: 'north',
    });
    expect(changedTags({}, { add: { ticket: 'T-2' }, remove: [] })).toEqual({ ticket: 'T-2' });
  });

  it('are not sent when nothing changes', () => {
    expect(changedTags({ ticket: 'T-1' }, { add: { ticket: 'T-1' }, remove: ['kind'] })).toBeNull();
    expect(changedTags({}, { add: {}, remove: ['kind'] })).toBeNull();
  });
});
