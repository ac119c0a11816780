import { getRouteApi, Link } from "@tanstack/react-router";
import { useData } from "../../data.ts";
import { Badge, TagBadge } from "../../parts/Badge.tsx";
import { Button, buttonClass } from "../../parts/Button.tsx";
import { Icon } from "../../parts/Icon.tsx";
import { Loaded } from "../../parts/Loaded.tsx";
import { Empty } from "../../parts/Notice.tsx";
import { Page } from "../../parts/Page.tsx";
import tabs from "../../parts/Tabs.module.css";
import { Time } from "../../parts/Time.tsx";
import { Compare } from "./Compare.tsx";
import { Editor } from "./Editor.tsx";
import styles from "./Prompt.module.css";
import { Publish } from "./Publish.tsx";
import { PromptHead, type PromptHeadOf } from "./queries.ts";
import { Tags } from "./Tags.tsx";
import { Texts } from "./Texts.tsx";

const route = getRouteApi("/shell/prompts/$slug");

export function PromptScreen() {
  const { slug } = route.useParams();
  const result = useData(PromptHead, { slug }, { isExact: true });
  return (
    <Loaded result={result}>{({ prompt }) => prompt && <PromptPage key={slug} prompt={prompt} />}</Loaded>
  );
}

function PromptPage({ prompt }: { prompt: PromptHeadOf }) {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const { slug, name, description, status } = prompt;
  const versions = prompt.availableVersions.toReversed();
  const shown =
    search.version ?? prompt.tags.find(({ label }) => label === "production")?.version ?? versions[0];
  const setDialog = (dialog: string | undefined) =>
    void navigate({ search: (now) => ({ ...now, dialog }), replace: true });
  return (
    <Page
      title={name}
      heading={
        <>
          {name} <code className={styles.slug}>{slug}</code>{" "}
          {status === "LIVE" ? <Badge tone="good">Live</Badge> : <Badge>Draft</Badge>}
        </>
      }
      about={description}
      back={
        <Link to="/prompts">
          <Icon name="back" size={13} /> Prompts
        </Link>
      }
      actions={
        <>
          <Link to="/logs" search={{ slug }} className={buttonClass()}>
            <Icon name="logs" /> Logs
          </Link>
          {shown && <Button onClick={() => setDialog("publish")}>Publish…</Button>}
          <Link
            to="/prompts/$slug"
            params={{ slug }}
            search={{ view: "edit", version: shown }}
            className={buttonClass("primary")}
          >
            <Icon name="plus" /> New version
          </Link>
        </>
      }
    >
      <Views slug={slug} version={shown} view={search.view ?? "text"} />
      <div className={styles.columns}>
        <Versions prompt={prompt} shown={shown} view={search.view} />
        <div className={styles.content}>
          {search.view === "edit" ? (
            <Editor prompt={prompt} base={shown} />
          ) : search.view === "tags" ? (
            <Tags prompt={prompt} />
          ) : !shown ? (
            <Empty title="No version yet">Write the first one with “New version”.</Empty>
          ) : search.view === "compare" || search.view === "impact" ? (
            <Compare
              slug={slug}
              versions={versions}
              from={search.from}
              to={shown}
              what={search.view === "impact" ? "impact" : "texts"}
            />
          ) : (
            <Texts slug={slug} version={shown} />
          )}
        </div>
      </div>
      {search.dialog === "publish" && shown && (
        <Publish prompt={prompt} version={shown} onClose={() => setDialog(undefined)} />
      )}
    </Page>
  );
}

/** Else the router takes links that differ in their search alone for the current one. */
const exactly = { exact: true, includeSearch: true, explicitUndefined: true };

const views = [
  { view: "text", name: "Text" },
  { view: "compare", name: "Compare" },
  { view: "impact", name: "Impact" },
  { view: "tags", name: "Tags and history" },
];

function Views({ slug, version, view }: { slug: string; version: string | undefined; view: string }) {
  return (
    <nav className={tabs.tabs} aria-label="Views">
      {views.map((one) => (
        <Link
          key={one.view}
          to="/prompts/$slug"
          params={{ slug }}
          search={{ version, view: one.view === "text" ? undefined : one.view }}
          className={tabs.tab}
          activeOptions={exactly}
          aria-current={one.view === view ? "page" : undefined}
        >
          {one.name}
        </Link>
      ))}
      {view === "edit" && (
        <span className={tabs.tab} aria-current="page">
          New version
        </span>
      )}
    </nav>
  );
}

/** The versions, the newest first, with the tags that point to them. */
function Versions({
  prompt,
  shown,
  view,
}: {
  prompt: PromptHeadOf;
  shown: string | undefined;
  view: string | undefined;
}) {
  const { slug, versions, tags } = prompt;
  return (
    <nav className={styles.versions} aria-label="Versions">
      {versions.nodes.toReversed().map(({ id, version, createdAt }) => (
        <Link
          key={id}
          to="/prompts/$slug"
          params={{ slug }}
          search={{ version, view: view === "edit" ? undefined : view }}
          className={styles.version}
          activeOptions={exactly}
          aria-current={version === shown ? "true" : undefined}
        >
          <span className={styles.number}>{version}</span>
          <span className={styles.age}>
            <Time at={createdAt} />
          </span>
          <span className={styles.tags}>
            {tags
              .filter((tag) => tag.version === version)
              .map(({ id: tagId, label }) => (
                <TagBadge key={tagId} label={label} />
              ))}
          </span>
        </Link>
      ))}
      {versions.pageInfo.hasPreviousPage && <p className={styles.more}>The 100 newest versions.</p>}
    </nav>
  );
}
