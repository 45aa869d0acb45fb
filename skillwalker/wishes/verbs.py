"""English verbs that say what is done for somebody, in the three forms that descriptions use."""

from __future__ import annotations

import re
from collections.abc import Iterator


def words(text: str) -> frozenset[str]:
    """The words of a list that is written as a text."""
    return frozenset(text.split())


BASES = words(
    """
    accelerate accept access accompany achieve acquire adapt add address adjust administer advise
    aggregate agree align allocate amend analyse analyze animate annotate announce anonymise anonymize
    answer anticipate append apply appraise approve architect archive arrange ask assemble assert assess
    assign assist attach attend audit augment authenticate author automate backtest backup bake balance
    batch benchmark bind blend block book boost bootstrap brainstorm brand break bridge brief bring
    browse build bump bundle buy cache calculate calibrate call cancel capture carry cast catalog catch
    categorize celebrate certify challenge change chart check checkpoint choose chop cite claim clarify
    classify clean clear climb clone close cluster coach code collaborate collate collect color colorize
    colour combine comment commit communicate compact compare compile complete compose compress compute
    concatenate condense conduct configure confirm connect conserve consolidate construct consult
    contact contain containerize continue contrast contribute control convert convey cook coordinate
    copy correct correlate counsel count craft crawl create critique crop crush cultivate curate
    customize cut debate debug decide declare decode decompose decorate decouple decrypt dedupe
    deduplicate deepen defend define delegate delete deliver demo demonstrate denoise depict deploy
    deprecate derive describe design detach detect determine develop diagnose dictate diff digitize
    direct disable discard disclose discover discuss dismiss dispatch display dispute dissect distill
    distribute divide document donate download draft drain draw drive dub duplicate edit educate
    elaborate elicit eliminate embed emit emulate enable encode encrypt enforce engage enhance enrich
    enroll ensure enter entertain enumerate equip erase escalate establish estimate evaluate evolve
    examine exchange exclude execute expand expedite experiment explain explore export expose extend
    extract extrapolate facilitate fell fetch file fill filter finalize find fine-tune finish fix flag
    flatten flip focus fold follow forecast forge format formulate forward frame freeze fulfil fund fuse
    gather gauge generate get give grade graft grant go graph greet grill grind groom guide handle harden
    harvest hash help hide highlight hire host hunt identify illustrate implement import improve impute
    incorporate index infer inform ingest initialise initialize inject insert inspect inspire install
    instantiate instrument integrate interact intercept interpolate interpret interview introduce
    inventory invert investigate invite invoice invoke irrigate isolate iterate join judge juggle
    justify keep kill knit label launch layer lead learn leverage lift light link lint list listen load
    localize locate lock log look lower maintain make manage map market mask match measure mediate
    memorize mend mentor merge message migrate mine minimize mix mock model moderate modernize modify
    monitor mount move mute name narrate navigate negotiate normalise normalize note notify nudge
    obfuscate observe obtain offer onboard open operate optimise optimize orchestrate order organise
    organize orient outline output overhaul overlay package paint paraphrase parse paste patch pause pay
    percolate perform permute persist personalize photograph phrase pick pin pitch place plan plant play
    plot point polish poll populate port post practice practise praise predict prepare prepend present
    preserve press prevent preview price print prioritize probe process procure produce profile program
    promote prompt pronounce proofread propose protect prototype provide provision prune publish pull
    push put puzzle qualify quantify query quiz quote raise rank rate read reassure rebalance rebase
    rebuild recall recap recite recommend reconcile reconstruct record recover recruit recycle redact
    redesign reduce refactor refine reflect reformulate reframe refresh register rehearse reject relate
    relax release relocate remediate remember remind remove rename render renew rent reorganize repair
    repeat replace replay replicate reply report reproduce repurpose request rescue research reserve
    reset reshape resize resolve respond restart restate restock restore restructure resume retire
    retouch retrieve retry return reuse revamp reveal reverse-engineer revert review revise reword
    rework rewrite ring rinse roast roll rotate round route run sample sanitize save scaffold scale scan
    schedule score scrape screen script sculpt seal search season secure see seed select sell send
    separate serve set settle setup sew shape share sharpen ship shorten show shrink shuffle sign
    simplify simulate sing sit size sketch skim slice slow smooth snapshot sniff snooze soften solder
    solve sort source sow spawn specify spell spend split spot stack stage stamp standardise standardize
    start steer sterilize stitch stop store strategize stream streamline strengthen stress stress-test
    strip structure study style stylize submit subscribe subtract suggest sum summarise summarize
    supervise support surface survey suspend swap sweep switch sync synchronize synthesise synthesize
    tabulate tag tailor take target taste teach tell terminate test think thread throttle tidy tie
    tighten time toggle total touch trace track train transcribe transfer transform translate transpile
    transplant transpose travel treat triage trigger trim troubleshoot truncate trust tune turn tutor
    tweak type unblock uncover underline understand undo unify unlock unpack unsubscribe unwind update
    upgrade upload upsert use validate vary vectorize verify version vet view visit visualise visualize
    vote wake walk warn wash watch water wean weave weigh weld whitelist wind wipe wire wish work
    wrangle wrap write yield zip zoom
    """
)

NOT_ASKED_FOR = words(
    """
    achieve activate address contain cover enable enforce ensure focus follow have include keep leverage
    offer output provide require respect specialize support use work
    """
)
"""What a skill does while it works; nobody asks for that."""

STATES = {"know": "I want to know", "learn": "I want to learn", "see": "I want to see", "be": "I want to be"}
"""Verbs of what somebody wants for themselves, which cannot be ordered from others."""

ALSO_NOUNS = words(
    """
    access archive audit backup balance batch benchmark block book brand break bridge brief bump bundle
    cache call capture cast catalog challenge change chartpoint claim clean clear clone cluster coach
    code color colour comment commit complete contact contrast control copy craft cut debate debug demo
    design diff direct document download draft drain drive exchange experiment export extract file
    filter flag flip focus fold forecast forge format forward frame fund fuse gauge grade grant graph
    go guide hash help highlight hire host import index install interview inventory invoice judge label
    launch layer lead lift light link lint list live load lock log look map market mask match measure
    mentor merge message mine mix mock model monitor mount mute name note offer open order outline output
    overlay package paste patch pause phrase pin pitch place plan plant play plot point poll port post
    practice practise praise present preview price print probe process profile program project prompt
    prototype pull push puzzle query quiz quote raise rank rate read record release report request
    research reserve reset return reuse review ring roll round route sample scale scan schedule score
    screen script seal search season secure seed separate set setup shape share ship show sign size
    sketch slice slow smooth snapshot sort source spell split spot stack stage stamp stitch store stream
    stress strip structure study style sum support surface survey swap sweep switch sync tag tailor
    target taste test thread throttle tie time toggle total touch trace track train transfer transform
    travel treat trigger trust tune turn type update upgrade upload use version view visit vote wake
    walk wash watch water wind wipe wish work wrap yield zip zoom
    """
)
"""Those that are as often another kind of word: what follows them decides."""

_ADJECTIVES = words("clean clear complete direct live open secure separate")

NOUN_HEADS = words(
    """
    agent agents analysis analyst app apps architect architecture assistant audit auditing automation
    best builder case cases checker checklist coding collection companion controller coverage creation
    creator data-driven design designer developer development doc documentation driven editing editor
    engine engineer engineering environment environments evaluation evaluator expert experts explorer
    file files fixer flow flows framework frameworks generation generator guard guardian guide
    guidelines handling helper implementation improvement improver infrastructure integration
    intelligence interface knowledge lead leader library lifecycle maker management manager master
    methodology mode notes operations optimization optimizer orchestration orchestrator pattern patterns
    pipeline pipelines plan planner planning platform playbook practice practices principles pro process
    processing processor product profiling protocol quality readiness reference release report reporting
    reports request requests research researcher review reviewer reviews runner scanner science
    scientist server servers session sessions setup simplifier skill skills smells spec specialist specs
    standards state strategist strategy studio style suite suites summarization system systems task
    tasks team template templates testing tool tooling toolkit tools tracker tracking utilities utility
    validation verification version visualization workflow workflows writer writing
    """
)

_DETERMINERS = words(
    """
    a all an and another any anything at both each either every everything for from how in into it its
    me my no on one or our out over some such that the their them these this those through to up what
    whether which your
    """
)


def _third(base: str) -> str:
    if re.search(r"(?:s|x|z|ch|sh|[^aeiou]o)$", base):
        return base + "es"
    return base[:-1] + "ies" if re.search(r"[^aeiou]y$", base) else base + "s"


def _gerunds(base: str) -> Iterator[str]:
    if base.endswith("ie"):
        yield base[:-2] + "ying"
    elif base.endswith("e") and not base.endswith(("ee", "oe", "ye")):
        yield base[:-1] + "ing"
    else:
        yield base + "ing"
    if re.search(r"[^aeiou][aeiou][bdglmnprt]$", base):
        yield base + base[-1] + "ing"  # which of the two is right depends on how it is stressed


_THIRD = {_third(base): base for base in sorted(BASES | NOT_ASKED_FOR)}
_GERUND = {form: base for base in sorted(BASES | NOT_ASKED_FOR) for form in _gerunds(base)}


def third_person(word: str) -> str | None:
    """The base of `creates`; None for what is no such form of a known verb."""
    return _whole(word, _THIRD)


def gerund(word: str) -> str | None:
    """The base of `creating`; None for what is no such form of a known verb."""
    return _whole(word, _GERUND)


def base(word: str) -> str | None:
    """`word` where it is a known verb's base."""
    lower = word.lower()
    return lower if lower in BASES or lower.removeprefix("re-") in BASES else None


def is_common(word: str) -> bool:
    """Whether a word with a capital is one for its place in the sentence, and no name."""
    lower = word.lower()
    singular = lower.removesuffix("s")
    return bool(base(lower) or third_person(lower) or gerund(lower)) or bool(
        {lower, singular} & (ALSO_NOUNS | NOUN_HEADS)
    )


def is_verb_here(word: str, following: str) -> bool:
    """Whether a word that may be a noun too begins a clause with a verb; what follows it tells."""
    stem = third_person(word) or base(word) or ""
    after = following.lower().strip(",.;:")
    if after in _DETERMINERS:
        return after not in ("for", "at", "in", "on", "from") or stem not in ALSO_NOUNS
    if not after or stem not in ALSO_NOUNS:
        return stem not in ALSO_NOUNS
    if third_person(word) and not base(word):
        return not following.startswith("-")
    return stem not in _ADJECTIVES and after not in NOUN_HEADS and not following.startswith(("-", ":"))


def _whole(word: str, forms: dict[str, str]) -> str | None:
    lower = word.lower()
    if lower in forms:
        return forms[lower]
    prefix, dash, rest = lower.partition("-")
    if dash and rest in forms and prefix in ("re", "auto", "fact", "cross", "co", "pre", "double", "live"):
        return f"{prefix}-{forms[rest]}"
    return None
