"""The many names of skills and agents, brought down to one.

The model may call a skill by `plugin:directory`, by `plugin:<frontmatter name>` or by the bare frontmatter
name, and Claude Code's events repeat whichever it used. Only a table made from the plugins can say which
skill was meant.
"""

from __future__ import annotations

from collections.abc import Mapping

from attrs import field, frozen


@frozen
class Names:
    """Which skill or agent a name in a stream means.

    Attributes:
        skills: Every accepted name of a skill, without a leading slash, to its id `plugin:directory`.
        agents: Every accepted name of an agent to its id.
        directories: The end of a skill's directory, such as `tools/skills/tidy-csv`, to the skill's id.
        ambiguous: Names with more than one owner, to the owners' ids. They are in neither table above, since
            guessing one owner could turn another skill's call into the expected one.
        unknown_skills, unknown_agents: Names that Claude Code does not know although they are plainly meant
            for one skill or agent: its directory or its id without the plugin. They count where a call was
            refused as unknown, and nowhere else.
    """

    skills: Mapping[str, str] = field(factory=dict)
    agents: Mapping[str, str] = field(factory=dict)
    directories: Mapping[str, str] = field(factory=dict)
    ambiguous: Mapping[str, tuple[str, ...]] = field(factory=dict)
    unknown_skills: Mapping[str, str] = field(factory=dict)
    unknown_agents: Mapping[str, str] = field(factory=dict)

    def skill(self, raw: str) -> str:
        """The id of the skill that `raw` names; an unknown name as it is, but for its leading slash."""
        name = raw.removeprefix("/")
        return self.skills.get(name, name)

    def agent(self, raw: str) -> str:
        """The id of the agent that `raw` names; an unknown name as it is."""
        return self.agents.get(raw, raw)

    def meant_skill(self, raw: str, error: str) -> str:
        """As `skill`, for a call that was refused with `error`."""
        name = self.skill(raw)
        return self.unknown_skills.get(name, name) if f"Unknown skill: {name}" in error else name

    def meant_agent(self, raw: str, error: str) -> str:
        """As `agent`, for a call that was refused with `error`."""
        name = self.agent(raw)
        return self.unknown_agents.get(name, name) if f"Agent type '{name}' not found" in error else name

    def skill_in(self, directory: str) -> str | None:
        """The id of the skill that lies in `directory`, a path in the sandbox; None: it is none of ours."""
        parts = [part for part in directory.replace("\\", "/").split("/") if part]
        ends = ("/".join(parts[start:]) for start in range(len(parts)))  # longest first: it says most
        return next((self.directories[end] for end in ends if end in self.directories), None)
