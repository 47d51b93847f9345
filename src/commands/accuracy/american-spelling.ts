const words = (text: string): string[] => text.split(/\s+/);

/** British words and their American spelling, where no rule below has them. */
const SINGLE: Readonly<Record<string, string>> = Object.fromEntries(
  words(
    'grey:gray greyer:grayer greys:grays cheque:check cheques:checks plough:plow ploughs:plows ploughed:plowed ' +
      'ploughing:plowing programme:program programmes:programs storey:story storeys:stories tyre:tire tyres:tires ' +
      'kerb:curb kerbs:curbs pyjamas:pajamas mould:mold moulds:molds moulded:molded moulding:molding mouldy:moldy ' +
      'sceptic:skeptic sceptics:skeptics sceptical:skeptical scepticism:skepticism jewellery:jewelry jeweller:jeweler ' +
      'jewellers:jewelers aluminium:aluminum defence:defense defences:defenses offence:offense offences:offenses ' +
      'licence:license licences:licenses pretence:pretense pretences:pretenses practise:practice practised:practiced ' +
      'practises:practices practising:practicing ageing:aging moustache:mustache moustaches:mustaches ' +
      'manoeuvre:maneuver manoeuvres:maneuvers manoeuvred:maneuvered manoeuvring:maneuvering smoulder:smolder ' +
      'smouldering:smoldering smouldered:smoldered draught:draft draughts:drafts draughty:drafty woollen:woolen ' +
      'woollens:woolens marvellous:marvelous marvellously:marvelously wilful:willful wilfully:willfully ' +
      'skilful:skillful skilfully:skillfully fulfil:fulfill fulfils:fulfills fulfilment:fulfillment instal:install ' +
      'enrol:enroll enrols:enrolls enrolment:enrollment instalment:installment instalments:installments ' +
      'appal:appall distil:distill distils:distills instil:instill instils:instills cosy:cozy cosier:cozier ' +
      'analyse:analyze analysed:analyzed analyses:analyzes analysing:analyzing paralyse:paralyze ' +
      'paralysed:paralyzed paralysing:paralyzing catalyse:catalyze anaesthetic:anesthetic anaemia:anemia ' +
      'anaemic:anemic encyclopaedia:encyclopedia mediaeval:medieval archaeology:archeology archaeologist:archeologist ' +
      'foetus:fetus oestrogen:estrogen diarrhoea:diarrhea haemorrhage:hemorrhage paediatric:pediatric ' +
      'orthopaedic:orthopedic leukaemia:leukemia faeces:feces judgement:judgment acknowledgement:acknowledgment ' +
      'acknowledgements:acknowledgments sulphur:sulfur sulphuric:sulfuric speciality:specialty ' +
      'specialities:specialties councillor:councilor councillors:councilors counsellor:counselor ' +
      'counsellors:counselors traveller:traveler travellers:travelers cancellation:cancelation ' +
      'gaol:jail gaoler:jailer tranquillity:tranquility ' +
      'parlour:parlor grovelling:groveling ' +
      'artefact:artifact artefacts:artifacts kilogramme:kilogram',
  ).map((pair) => pair.split(':') as [string, string]),
);

/** Words in `-our`, with what may follow: `colour`, `favourite`, `honourable`. */
const OUR =
  'arb|ard|arm|behavi|cand|clam|clang|col|demean|endeav|enam|fav|ferv|flav|glam|harb|hon|hum|lab|misdemean|neighb|od|parl|ranc|rig|rum|sav|splend|succ|tum|val|vap|vig';
/** Verbs in `-ise` whose American spelling is `-ize`. */
const ISE =
  'agon|apolog|author|bapt|brutal|capital|categor|central|character|civil|colon|critic|crystall|dramat|economicall|econom|emphas|energ|equal|familiar|fertil|final|formal|fraternal|general|harmon|hospital|human|hypnot|ideal|immortal|immun|industrial|item|jeopard|legal|local|magnet|material|maxim|mechan|memor|minim|mobil|modern|monopol|moral|national|natural|neutral|normal|optim|organ|reorgan|disorgan|ostrac|oxid|particular|patron|penal|personal|plagiar|polar|popular|pressur|priorit|privat|public|pulver|rational|real|recogn|revolution|romantic|satir|scandal|scrutin|sensit|serial|social|special|stabil|standard|steril|subsid|summar|symbol|sympath|synchron|synthes|terror|theor|tranquill|traumat|tyrann|urban|util|vandal|victim|visual|vocal|vulcan|western';
const RE = 'cent|theat|fib|lit|met|calib|somb|spect|lust|meag|sab|och|sepulch';
/** Verbs that double their `l` only in British English. */
const LL =
  'cancel|travel|model|label|level|signal|total|quarrel|counsel|fuel|duel|marvel|shovel|tunnel|channel|dial|equal|libel|pedal|rival|unravel|jewel|bevel|gravel|swivel|panel|parcel|pencil|stencil|spiral|initial|dishevel|grovel|snivel|trowel|funnel|kennel|towel|bejewel|chisel|cudgel|drivel|enamel|imperil|marshal|refuel|revel|shrivel|victual|yodel';
const OGUE = 'catal|dial|anal|monol|epil|prol|travel';

const RULES: readonly [RegExp, string][] = [
  [
    new RegExp(`^((?:dis|un|re|out|mis)?(?:${OUR}))our(?=$|s$|ed$|er|ing|less|ful|able|ably|ite|y$|ly$|hood|ist|al)`),
    '$1or',
  ],
  [new RegExp(`^((?:un|re|de|over|dis)?(?:${ISE}))is(?=e$|ed$|es$|er$|ers$|ing$|ation|able)`), '$1iz'],
  [new RegExp(`^((?:kilo|centi|milli|deci)?(?:${RE}))re(?=$|s$|d$)`), '$1er'],
  [new RegExp(`^((?:${LL}))l(?=ed$|ing$|ings$|er$|ers$)`), '$1'],
  [new RegExp(`^(${OGUE})ogue(?=$|s$|d$)`), '$1og'],
];

/** The American spelling of a lower-case British word; any other word as it is. */
export function americanSpelling(word: string): string {
  if (Object.hasOwn(SINGLE, word)) return SINGLE[word] as string;
  for (const [pattern, replacement] of RULES) if (pattern.test(word)) return word.replace(pattern, replacement);
  return word;
}
