/* What replaced the form can be taken back until the form is changed: Undo would take that back, too.
   A model that a list fills in is nobody’s doing. */
(() => {
  const playground = (window.playground = window.playground || {});

  /* `host`: document(), put(document). A function (sentence, before, also) that offers it: `also` is
     done with it; and `withdraw`, to be called after each change. */
  playground.takenBack = (host) => {
    let offered = null; // {close, stands: the document as the act left it}
    const offer = (text, before, also = () => {}) => {
      const made = { close: playground.toast(text, () => {
        offered = null;
        host.put(before);
        also();
        playground.announce("The form is as it was before.");
      }) };
      offered = made;
      queueMicrotask(() => { made.stands = JSON.parse(JSON.stringify(host.document())); }); // some acts say it first
    };
    const known = (found, then) => JSON.stringify({ ...found, columns: found.columns.map((column, at) => (then.columns[at]?.model ? column : { ...column, model: "" })) });
    offer.withdraw = () => {
      const then = offered?.stands;
      if (!then || known(host.document(), then) === known(then, then)) return;
      offered.close();
      offered = null;
    };
    return offer;
  };
})();
