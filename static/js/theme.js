/* Theme and text size, before the first paint. The only two things kept in the browser. */
(() => {
  const stored = (key) => { try { return localStorage.getItem(key); } catch { return null; } };
  const theme = stored("theme"), mono = stored("mono");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
  if (["s", "m", "l", "xl"].includes(mono)) document.documentElement.dataset.mono = mono;
})();
