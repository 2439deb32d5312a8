/* Who else is watching: avatars in the bar of the outputs, names in a tip and for a screen reader. */
(() => {
  const MOST = 5; // avatars
  const list = (names) => (names.length < 2 ? names.join("") : `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`);
  let people = [];
  const avatar = (person) => {
    const element = document.createElement("span");
    element.className = "avatar";
    element.textContent = person.initials;
    return element;
  };
  const draw = () => document.querySelectorAll("[data-watching]").forEach((place) => {
    const said = people.length ? `${list(people.map((each) => each.name))} ${people.length > 1 ? "are" : "is"} watching` : "";
    place.hidden = !people.length;
    place.setAttribute("aria-label", said || "Watching");
    place.querySelector("[data-avatars]").replaceChildren(...people.slice(0, MOST).map(avatar));
    place.querySelector("[data-watching-count]").textContent = people.length > MOST ? `${people.length} watching` : "watching";
    place.querySelector("[data-watching-names]").textContent = said;
  });
  document.addEventListener("playground:watching", (event) => {
    const place = document.getElementById("outputs");
    if (!place || Number(place.dataset.comparison) !== event.detail.comparison) return;
    people = event.detail.people.filter((each) => !each.me);
    draw();
  });
  document.addEventListener("playground:idle", () => { people = []; draw(); });
  document.addEventListener("htmx:afterSettle", () => { if (people.length) draw(); });
})();
