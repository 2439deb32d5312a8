/* Theme and text size, before the first paint. The only things kept in the browser, beside the time zone. */
(() => {
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const [prefix, secure] = location.protocol === "https:" ? ["__Secure-", "; secure"] : ["", ""];
  if (zone) document.cookie = `${prefix}time_zone=${zone}; path=/; max-age=31536000; samesite=lax${secure}`;

  const stored = (key) => { try { return localStorage.getItem(key); } catch { return null; } };
  const theme = stored("theme"), mono = stored("mono");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
  if (["s", "m", "l", "xl"].includes(mono)) document.documentElement.dataset.mono = mono;
})();
